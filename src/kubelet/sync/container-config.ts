import { promises as fs } from 'node:fs'
import { join } from 'node:path'
import type { Pod, VolumeMount } from '../../api/core/v1/types.generated.ts'
import type { Random } from '../../base/index.ts'
import { milliValue, wholeValue } from '../../component-helpers/amounts.ts'
import { computeQOSClass } from '../../component-helpers/qos.ts'
import { expand } from '../env/expansion.ts'
import { type AnyContainer, format, nameOf, namespaceOf, roleOf, specGracePeriod, uidOf } from '../pods/pod.ts'
import {
  type ContainerConfig,
  type Image,
  type LinuxContainerResources,
  type LinuxContainerSecurityContext,
  type Mount,
  runtimeAnnotations,
  runtimeLabels,
} from '../runtime/runtime.ts'
import { bindSubPath, type Mounter } from '../volumes/mounter.ts'
import { containerHash } from './hash.ts'
import { milliToQuota, milliToShares, namespaceOptions, seccompOf, seLinux } from './sandbox-config.ts'

export interface ContainerConfigOptions {
  env: ReadonlyMap<string, string>
  attempt: number
  imageRef: string
  image: Image | undefined
  podDir: string
  rootDir: string
  /** Host path of the Pod's hosts file, when there is one. */
  hostsFile: string | undefined
  volumePath(name: string): string | undefined
  mounter: Mounter | undefined
  random: Random
  targetId: string | undefined
  memoryCapacity: number
  runtimeHandler: string
  /** No files are behind the Pod. */
  pretend: boolean
}

const MASKED = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
]
const READONLY = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']

/** Everything the runtime needs to make a container. Throws with the text of CreateContainerConfigError. */
export async function containerConfig(pod: Pod, c: AnyContainer, o: ContainerConfigOptions): Promise<ContainerConfig> {
  const lookUp = (name: string) => o.env.get(name)
  const security = securityContext(pod, c, o)
  const mounts = await mountsOf(pod, c, o)
  const terminationPath = c.terminationMessagePath || '/dev/termination-log'
  if (!o.pretend) {
    const dir = join(o.podDir, 'containers', c.name)
    await fs.mkdir(dir, { recursive: true, mode: 0o750 })
    const hostPath = join(dir, Buffer.from(o.random.bytes(4)).toString('hex'))
    await fs.writeFile(hostPath, '')
    await fs.chmod(hostPath, 0o666)
    mounts.push({ containerPath: terminationPath, hostPath, readonly: false, propagation: 'PRIVATE' })
  }
  const role = roleOf(pod, c.name)
  const preStop = c.lifecycle?.preStop
  return {
    metadata: { name: c.name, attempt: o.attempt },
    image: { image: o.imageRef, userSpecifiedImage: c.image ?? '', ...(o.runtimeHandler ? { runtimeHandler: o.runtimeHandler } : {}) },
    command: (c.command ?? []).map((a) => expand(a, lookUp)),
    args: (c.args ?? []).map((a) => expand(a, lookUp)),
    workingDir: c.workingDir ?? '',
    envs: [...o.env].map(([key, value]) => ({ key, value })),
    mounts,
    devices: [],
    labels: {
      [runtimeLabels.podName]: nameOf(pod),
      [runtimeLabels.podNamespace]: namespaceOf(pod),
      [runtimeLabels.podUid]: uidOf(pod),
      [runtimeLabels.containerName]: c.name,
    },
    annotations: {
      [runtimeAnnotations.hash]: containerHash(c),
      [runtimeAnnotations.restartCount]: String(o.attempt),
      [runtimeAnnotations.terminationMessagePath]: terminationPath,
      [runtimeAnnotations.terminationMessagePolicy]: c.terminationMessagePolicy ?? 'File',
      [runtimeAnnotations.podTerminationGracePeriod]: String(specGracePeriod(pod)),
      ...(pod.metadata.deletionGracePeriodSeconds === undefined
        ? {}
        : { [runtimeAnnotations.podDeletionGracePeriod]: String(pod.metadata.deletionGracePeriodSeconds) }),
      ...(preStop ? { [runtimeAnnotations.preStopHandler]: JSON.stringify(preStop) } : {}),
      ...(c.ports?.length ? { [runtimeAnnotations.containerPorts]: JSON.stringify(c.ports) } : {}),
    },
    logPath: `${c.name}/${o.attempt}.log`,
    stdin: c.stdin === true,
    stdinOnce: c.stdinOnce === true,
    tty: c.tty === true,
    linux: { resources: linuxResources(pod, c, o.memoryCapacity), securityContext: security },
    ...(role ? { role } : {}),
  }
}

function securityContext(pod: Pod, c: AnyContainer, o: ContainerConfigOptions): LinuxContainerSecurityContext {
  const ps = pod.spec.securityContext ?? {}
  const cs = c.securityContext ?? {}
  const runAsUser = cs.runAsUser ?? ps.runAsUser
  const runAsGroup = cs.runAsGroup ?? ps.runAsGroup
  const nonRoot = cs.runAsNonRoot ?? ps.runAsNonRoot
  const where = `(pod: ${JSON.stringify(format(pod))}, container: ${c.name})`
  if (nonRoot) {
    if (runAsUser === 0) throw new Error(`container's runAsUser breaks non-root policy ${where}`)
    if (runAsUser === undefined && o.image) {
      if (o.image.uid === 0 || (o.image.uid === undefined && o.image.username === ''))
        throw new Error(`container has runAsNonRoot and image will run as root ${where}`)
      if (o.image.uid === undefined && o.image.username !== '') {
        throw new Error(`container has runAsNonRoot and image has non-numeric user (${o.image.username}), cannot verify user is non-root ${where}`)
      }
    }
  }
  const privileged = cs.privileged === true
  const seccomp = privileged ? undefined : seccompOf(cs.seccompProfile ?? ps.seccompProfile, o.rootDir)
  const seLinuxOptions = cs.seLinuxOptions ?? ps.seLinuxOptions
  const appArmor = cs.appArmorProfile ?? ps.appArmorProfile
  const unmasked = cs.procMount === 'Unmasked' || privileged
  return {
    privileged,
    namespaceOptions: namespaceOptions(pod, o.targetId),
    readonlyRootfs: cs.readOnlyRootFilesystem === true,
    supplementalGroups: [...(ps.fsGroup === undefined ? [] : [ps.fsGroup]), ...(ps.supplementalGroups ?? [])],
    ...(ps.supplementalGroupsPolicy ? { supplementalGroupsPolicy: ps.supplementalGroupsPolicy as 'Merge' | 'Strict' } : {}),
    noNewPrivs: cs.allowPrivilegeEscalation === false && !privileged,
    maskedPaths: unmasked ? [] : MASKED,
    readonlyPaths: unmasked ? [] : READONLY,
    seccomp: seccomp ?? { profileType: 'Unconfined' },
    ...(appArmor
      ? {
          apparmor: {
            profileType: appArmor.type as 'RuntimeDefault' | 'Unconfined' | 'Localhost',
            ...(appArmor.localhostProfile ? { localhostRef: appArmor.localhostProfile } : {}),
          },
        }
      : {}),
    ...(cs.capabilities ? { capabilities: { addCapabilities: cs.capabilities.add ?? [], dropCapabilities: cs.capabilities.drop ?? [] } } : {}),
    ...(runAsUser === undefined ? {} : { runAsUser }),
    ...(runAsUser === undefined && o.image?.uid !== undefined ? { runAsUser: o.image.uid } : {}),
    ...(runAsUser === undefined && o.image?.uid === undefined && o.image?.username ? { runAsUsername: o.image.username } : {}),
    ...(runAsGroup === undefined ? {} : { runAsGroup }),
    ...(seLinuxOptions ? { selinuxOptions: seLinux(seLinuxOptions) } : {}),
  }
}

export function linuxResources(pod: Pod, c: AnyContainer, memoryCapacity: number): LinuxContainerResources {
  const { requests, limits } = c.resources ?? {}
  const cpuLimit = milliValue(limits?.['cpu'] ?? pod.spec.resources?.limits?.['cpu'])
  const cpuRequest = requests?.['cpu'] === undefined ? cpuLimit : milliValue(requests['cpu'])
  const memory = wholeValue(limits?.['memory'] ?? pod.spec.resources?.limits?.['memory'])
  const huge = Object.entries(limits ?? {}).filter(([name]) => name.startsWith('hugepages-'))
  return {
    cpuPeriod: 100_000,
    cpuShares: milliToShares(cpuRequest),
    cpuQuota: milliToQuota(cpuLimit),
    memoryLimitInBytes: memory,
    oomScoreAdj: oomScoreAdj(pod, c, memoryCapacity),
    ...(huge.length
      ? { hugepageLimits: huge.map(([name, q]) => ({ pageSize: `${name.slice('hugepages-'.length).replace('i', '')}B`, limit: wholeValue(q) })) }
      : {}),
  }
}

function oomScoreAdj(pod: Pod, c: AnyContainer, capacity: number): number {
  if (pod.spec.priorityClassName === 'system-node-critical' || (pod.spec.priority ?? 0) >= 2_000_001_000) return -997
  const qos = computeQOSClass(pod)
  if (qos === 'Guaranteed') return -997
  if (qos === 'BestEffort') return 1000
  const request = wholeValue(c.resources?.requests?.['memory'])
  const score = 1000 - Math.floor((1000 * request) / (capacity || 1))
  return Math.min(999, Math.max(3, score))
}

async function mountsOf(pod: Pod, c: AnyContainer, o: ContainerConfigOptions): Promise<Mount[]> {
  const out: Mount[] = []
  const readOnlyKinds = new Set((pod.spec.volumes ?? []).filter((v) => v.configMap || v.secret || v.projected || v.downwardAPI || v.image).map((v) => v.name))
  for (const [i, m] of (c.volumeMounts ?? []).entries()) {
    const volume = pod.spec.volumes?.find((v) => v.name === m.name)
    const source = o.volumePath(m.name)
    if (source === undefined) throw new Error(`cannot find volume ${JSON.stringify(m.name)} to mount into container ${JSON.stringify(c.name)}`)
    const readonly = m.readOnly === true || readOnlyKinds.has(m.name)
    const mount: Mount = {
      containerPath: m.mountPath.startsWith('/') ? m.mountPath : `/${m.mountPath}`,
      hostPath: source,
      readonly,
      propagation: m.mountPropagation === 'Bidirectional' ? 'BIDIRECTIONAL' : m.mountPropagation === 'HostToContainer' ? 'HOST_TO_CONTAINER' : 'PRIVATE',
      ...(m.recursiveReadOnly === 'Enabled' ? { recursiveReadOnly: true } : {}),
    }
    if (volume?.image) {
      mount.hostPath = ''
      mount.image = { image: volume.image.reference ?? '' }
      if (m.subPath) mount.imageSubPath = m.subPath
    } else {
      const subPath = subPathOf(m, o.env)
      if (subPath) {
        mount.hostPath = o.pretend
          ? join(source, subPath)
          : await bindSubPath(source, subPath, join(o.podDir, 'volume-subpaths', m.name, c.name, String(i)), o.mounter)
      }
    }
    out.push(mount)
  }
  if (o.hostsFile && !(c.volumeMounts ?? []).some((m) => m.mountPath === '/etc/hosts')) {
    out.push({ containerPath: '/etc/hosts', hostPath: o.hostsFile, readonly: false, propagation: 'PRIVATE' })
  }
  return out
}

function subPathOf(m: VolumeMount, env: ReadonlyMap<string, string>): string {
  if (m.subPath) return m.subPath
  if (!m.subPathExpr) return ''
  return expand(m.subPathExpr, (name) => {
    const value = env.get(name)
    if (!value) throw new Error(`missing value for ${JSON.stringify(name)}`)
    return value
  })
}
