import type { corev1 } from '../../../api/index.ts'
import { type Check, containersOf, containersText, hasUserNamespace, plural, quoted, settersText, sortedSet } from './pod.ts'

const CAPABILITIES = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
])
const APPARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/'

/** Sysctls that stay within the Pod, with the version from which on they count as such. */
const SYSCTLS: Readonly<Record<string, number>> = {
  'kernel.shm_rmid_forced': 0,
  'net.ipv4.ip_local_port_range': 0,
  'net.ipv4.tcp_syncookies': 0,
  'net.ipv4.ping_group_range': 0,
  'net.ipv4.ip_unprivileged_port_start': 0,
  'net.ipv4.ip_local_reserved_ports': 27,
  'net.ipv4.tcp_keepalive_time': 29,
  'net.ipv4.tcp_fin_timeout': 29,
  'net.ipv4.tcp_keepalive_intvl': 29,
  'net.ipv4.tcp_keepalive_probes': 29,
  'net.ipv4.tcp_rmem': 32,
  'net.ipv4.tcp_wmem': 32,
}

function handlerHosts(container: corev1.Container): string[] {
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container
  const handlers = [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop]
  return handlers.flatMap((h) => [h?.httpGet?.host, h?.tcpSocket?.host]).filter((host): host is string => Boolean(host))
}

/** Checks of the baseline level, by id. */
export const baselineChecks: readonly Check[] = [
  {
    id: 'appArmorProfile',
    since: 0,
    run(pod) {
      const values = new Set<string>()
      const bad = (type: string | undefined) => {
        if (type === undefined || type === 'RuntimeDefault' || type === 'Localhost') return false
        values.add(type)
        return true
      }
      const podBad = bad(pod.spec.securityContext?.appArmorProfile?.type)
      const names = containersOf(pod)
        .filter((c) => bad(c.securityContext?.appArmorProfile?.type))
        .map((c) => c.name)
      const annotations = Object.entries(pod.metadata.annotations ?? {})
        .filter(([k, v]) => k.startsWith(APPARMOR_ANNOTATION) && v !== '' && v !== 'runtime/default' && !v.startsWith('localhost/'))
        .map(([k, v]) => `${k}="${v}"`)
        .sort()
      if (!values.size && !annotations.length) return undefined
      const parts: string[] = []
      if (values.size) parts.push(`${settersText(podBad, names)} must not set AppArmor profile type to ${quoted(sortedSet(values))}`)
      if (annotations.length) parts.push(`${plural('annotation', 'annotations', annotations.length)} ${annotations.join(', ')}`)
      return { reason: plural('forbidden AppArmor profile', 'forbidden AppArmor profiles', values.size + annotations.length), detail: parts.join('; ') }
    },
  },
  {
    id: 'capabilities_baseline',
    since: 0,
    run(pod) {
      const names: string[] = []
      const forbidden: string[] = []
      for (const { name, securityContext } of containersOf(pod)) {
        const added = (securityContext?.capabilities?.add ?? []).filter((c) => !CAPABILITIES.has(c))
        if (added.length) names.push(name)
        forbidden.push(...added)
      }
      if (!names.length) return undefined
      return {
        reason: 'non-default capabilities',
        detail: `${containersText(names)} must not include ${quoted(sortedSet(forbidden))} in securityContext.capabilities.add`,
      }
    },
  },
  {
    id: 'hostNamespaces',
    since: 0,
    run({ spec }) {
      const set = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((field) => spec[field])
      return set.length ? { reason: 'host namespaces', detail: set.map((f) => `${f}=true`).join(', ') } : undefined
    },
  },
  {
    id: 'hostPathVolumes',
    since: 0,
    run({ spec }) {
      const names = (spec.volumes ?? []).filter((v) => v.hostPath).map((v) => v.name)
      return names.length ? { reason: 'hostPath volumes', detail: `${plural('volume', 'volumes', names.length)} ${quoted(names)}` } : undefined
    },
  },
  {
    id: 'hostPorts',
    since: 0,
    run(pod) {
      const names: string[] = []
      const ports: string[] = []
      for (const { name, ports: own } of containersOf(pod)) {
        const used = (own ?? []).flatMap((p) => (p.hostPort ? [String(p.hostPort)] : []))
        if (used.length) names.push(name)
        ports.push(...used)
      }
      if (!names.length) return undefined
      const all = sortedSet(ports)
      const verb = plural('uses', 'use', names.length)
      return { reason: 'hostPort', detail: `${containersText(names)} ${verb} ${plural('hostPort', 'hostPorts', all.length)} ${all.join(', ')}` }
    },
  },
  {
    id: 'hostProbesAndHostLifecycle',
    since: 34,
    run(pod) {
      const names: string[] = []
      const hosts: string[] = []
      for (const container of containersOf(pod)) {
        const used = handlerHosts(container)
        if (used.length) names.push(container.name)
        hosts.push(...used)
      }
      if (!names.length) return undefined
      const all = sortedSet(hosts)
      const verb = plural('uses', 'use', names.length)
      return {
        reason: 'probe or lifecycle host',
        detail: `${containersText(names)} ${verb} probe or lifecycle ${plural('host', 'hosts', all.length)} ${quoted(all)}`,
      }
    },
  },
  {
    id: 'privileged',
    since: 0,
    run(pod) {
      const names = containersOf(pod)
        .filter((c) => c.securityContext?.privileged)
        .map((c) => c.name)
      return names.length ? { reason: 'privileged', detail: `${containersText(names)} must not set securityContext.privileged=true` } : undefined
    },
  },
  {
    id: 'procMount',
    since: 0,
    run: (pod, minor) => (minor >= 35 && hasUserNamespace(pod) ? undefined : procMount(pod)),
  },
  {
    id: 'seLinuxOptions',
    since: 0,
    run(pod, minor) {
      const allowed = new Set(['', 'container_t', 'container_init_t', 'container_kvm_t', ...(minor >= 31 ? ['container_engine_t'] : [])])
      const types: string[] = []
      let user = false
      let role = false
      const bad = (options: corev1.SELinuxOptions | undefined) => {
        if (!options) return false
        const badType = !allowed.has(options.type ?? '')
        if (badType) types.push(options.type ?? '')
        user ||= Boolean(options.user)
        role ||= Boolean(options.role)
        return badType || Boolean(options.user) || Boolean(options.role)
      }
      const podBad = bad(pod.spec.securityContext?.seLinuxOptions)
      const names = containersOf(pod)
        .filter((c) => bad(c.securityContext?.seLinuxOptions))
        .map((c) => c.name)
      if (!podBad && !names.length) return undefined
      const all = sortedSet(types)
      const data = [
        ...(all.length ? [`${plural('type', 'types', all.length)} ${quoted(all)}`] : []),
        ...(user ? ['user may not be set'] : []),
        ...(role ? ['role may not be set'] : []),
      ]
      return { reason: 'seLinuxOptions', detail: `${settersText(podBad, names)} set forbidden securityContext.seLinuxOptions: ${data.join('; ')}` }
    },
  },
  {
    id: 'seccompProfile_baseline',
    since: 19,
    run(pod) {
      const bad = (type: string | undefined) => type !== undefined && type !== 'RuntimeDefault' && type !== 'Localhost'
      const podType = pod.spec.securityContext?.seccompProfile?.type
      const offenders = containersOf(pod).filter((c) => bad(c.securityContext?.seccompProfile?.type))
      if (!bad(podType) && !offenders.length) return undefined
      const values = sortedSet([...(bad(podType) ? [podType as string] : []), ...offenders.map((c) => c.securityContext?.seccompProfile?.type as string)])
      const setters = settersText(
        bad(podType),
        offenders.map((c) => c.name),
      )
      return { reason: 'seccompProfile', detail: `${setters} must not set securityContext.seccompProfile.type to ${quoted(values)}` }
    },
  },
  {
    id: 'sysctls',
    since: 0,
    run({ spec }, minor) {
      const names = (spec.securityContext?.sysctls ?? []).map((s) => s.name)
      const forbidden = names.filter((n) => !(Object.hasOwn(SYSCTLS, n) && minor >= (SYSCTLS[n] as number)))
      return forbidden.length ? { reason: 'forbidden sysctls', detail: forbidden.join(', ') } : undefined
    },
  },
  {
    id: 'windowsHostProcess',
    since: 0,
    run(pod) {
      const podBad = pod.spec.securityContext?.windowsOptions?.hostProcess === true
      const names = containersOf(pod)
        .filter((c) => c.securityContext?.windowsOptions?.hostProcess)
        .map((c) => c.name)
      if (!podBad && !names.length) return undefined
      return { reason: 'hostProcess', detail: `${settersText(podBad, names)} must not set securityContext.windowsOptions.hostProcess=true` }
    },
  },
]

export function procMount(pod: Parameters<Check['run']>[0]): ReturnType<Check['run']> {
  const offenders = containersOf(pod).filter((c) => c.securityContext?.procMount !== undefined && c.securityContext.procMount !== 'Default')
  if (!offenders.length) return undefined
  const values = sortedSet(offenders.map((c) => c.securityContext?.procMount as string))
  return { reason: 'procMount', detail: `${containersText(offenders.map((c) => c.name))} must not set securityContext.procMount to ${quoted(values)}` }
}
