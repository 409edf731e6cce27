import { procMount } from './baseline.ts'
import { type Check, containersOf, containersText, hasUserNamespace, isWindows, plural, quoted, settersText, sortedSet } from './pod.ts'

const VOLUMES = new Set(['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'image', 'persistentVolumeClaim', 'projected', 'secret'])

/** Checks the restricted level adds, by id. */
export const restrictedChecks: readonly Check[] = [
  {
    id: 'allowPrivilegeEscalation',
    restricted: true,
    since: 8,
    run(pod, minor) {
      if (minor >= 25 && isWindows(pod)) return undefined
      const names = containersOf(pod)
        .filter((c) => c.securityContext?.allowPrivilegeEscalation !== false)
        .map((c) => c.name)
      if (!names.length) return undefined
      return { reason: 'allowPrivilegeEscalation != false', detail: `${containersText(names)} must set securityContext.allowPrivilegeEscalation=false` }
    },
  },
  {
    id: 'capabilities_restricted',
    restricted: true,
    since: 22,
    overrides: 'capabilities_baseline',
    run(pod, minor) {
      if (minor >= 25 && isWindows(pod)) return undefined
      const undropped: string[] = []
      const adding: string[] = []
      const added: string[] = []
      for (const { name, securityContext } of containersOf(pod)) {
        const { add = [], drop = [] } = securityContext?.capabilities ?? {}
        if (!drop.includes('ALL')) undropped.push(name)
        const forbidden = add.filter((c) => c !== 'NET_BIND_SERVICE')
        if (forbidden.length) adding.push(name)
        added.push(...forbidden)
      }
      const parts: string[] = []
      if (undropped.length) parts.push(`${containersText(undropped)} must set securityContext.capabilities.drop=["ALL"]`)
      if (adding.length) parts.push(`${containersText(adding)} must not include ${quoted(sortedSet(added))} in securityContext.capabilities.add`)
      return parts.length ? { reason: 'unrestricted capabilities', detail: parts.join('; ') } : undefined
    },
  },
  { id: 'procMount_restricted', restricted: true, since: 35, overrides: 'procMount', run: procMount },
  {
    id: 'restrictedVolumes',
    restricted: true,
    since: 0,
    overrides: 'hostPathVolumes',
    run({ spec }) {
      const names: string[] = []
      const types: string[] = []
      for (const volume of spec.volumes ?? []) {
        const type = Object.keys(volume).find((key) => key !== 'name' && (volume as unknown as Record<string, unknown>)[key] !== undefined)
        if (type === undefined || VOLUMES.has(type)) continue
        names.push(volume.name)
        types.push(type)
      }
      if (!names.length) return undefined
      const all = sortedSet(types)
      const who = `${plural('volume', 'volumes', names.length)} ${quoted(names)} ${plural('uses', 'use', names.length)}`
      return { reason: 'restricted volume types', detail: `${who} restricted volume ${plural('type', 'types', all.length)} ${quoted(all)}` }
    },
  },
  {
    id: 'runAsNonRoot',
    restricted: true,
    since: 0,
    run(pod, minor) {
      if (minor >= 35 && hasUserNamespace(pod)) return undefined
      const reason = 'runAsNonRoot != true'
      const own = pod.spec.securityContext?.runAsNonRoot
      const all = containersOf(pod)
      const refusing = all.filter((c) => c.securityContext?.runAsNonRoot === false).map((c) => c.name)
      // A pod-wide false that every container overrides does no harm.
      const open = all.filter((c) => c.securityContext?.runAsNonRoot === undefined).map((c) => c.name)
      const podRefuses = own === false && open.length > 0
      if (podRefuses || refusing.length) return { reason, detail: `${settersText(podRefuses, refusing)} must not set securityContext.runAsNonRoot=false` }
      if (own === true || !open.length) return undefined
      return { reason, detail: `pod or ${containersText(open)} must set securityContext.runAsNonRoot=true` }
    },
  },
  {
    id: 'runAsUser',
    restricted: true,
    since: 23,
    run(pod, minor) {
      if (minor >= 35 && hasUserNamespace(pod)) return undefined
      const podBad = pod.spec.securityContext?.runAsUser === 0
      const names = containersOf(pod)
        .filter((c) => c.securityContext?.runAsUser === 0)
        .map((c) => c.name)
      return podBad || names.length ? { reason: 'runAsUser=0', detail: `${settersText(podBad, names)} must not set runAsUser=0` } : undefined
    },
  },
  {
    id: 'seccompProfile_restricted',
    restricted: true,
    since: 19,
    overrides: 'seccompProfile_baseline',
    run(pod, minor) {
      if (minor >= 25 && isWindows(pod)) return undefined
      const good = (type: string | undefined) => type === 'RuntimeDefault' || type === 'Localhost'
      const podType = pod.spec.securityContext?.seccompProfile?.type
      const all = containersOf(pod)
      const bad = all.filter((c) => c.securityContext?.seccompProfile?.type !== undefined && !good(c.securityContext.seccompProfile.type))
      const open = all.filter((c) => c.securityContext?.seccompProfile?.type === undefined).map((c) => c.name)
      const podBad = podType !== undefined && !good(podType)
      const reason = 'seccompProfile'
      if (podBad || bad.length) {
        const values = sortedSet([...(podBad ? [podType as string] : []), ...bad.map((c) => c.securityContext?.seccompProfile?.type as string)])
        return {
          reason,
          detail: `${settersText(
            podBad,
            bad.map((c) => c.name),
          )} must not set securityContext.seccompProfile.type to ${quoted(values)}`,
        }
      }
      if (good(podType) || !open.length) return undefined
      return { reason, detail: `pod or ${containersText(open)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"` }
    },
  },
]
