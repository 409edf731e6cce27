import { join } from 'node:path'
import type { Pod, SeccompProfile } from '../../api/core/v1/types.generated.ts'
import { milliValue } from '../../component-helpers/amounts.ts'
import { amountValue, podLimits, podRequests } from '../../component-helpers/pod-requests.ts'
import { computeQOSClass } from '../../component-helpers/qos.ts'
import { allContainers, nameOf, namespaceOf, uidOf } from '../pods/pod.ts'
import {
  type LinuxContainerResources,
  type NamespaceOption,
  type PodSandboxConfig,
  type PortMapping,
  runtimeLabels,
  type SecurityProfile,
} from '../runtime/runtime.ts'

export interface SandboxOptions {
  logDir: string
  clusterDomain: string
  dns: { servers: string[]; searches: string[]; options: string[] }
  rootDir: string
  cgroupRoot?: string
}

export const podLogDir = (logDir: string, pod: Pod): string => join(logDir, `${namespaceOf(pod)}_${nameOf(pod)}_${uidOf(pod)}`)

/** The name of the Pod's host, and its domain where a subdomain is set. */
export function hostnameOf(pod: Pod, clusterDomain: string): { hostname: string; domain: string } {
  if (pod.spec.hostnameOverride) return { hostname: pod.spec.hostnameOverride, domain: '' }
  const hostname = (pod.spec.hostname || nameOf(pod)).slice(0, 63).replace(/[-.]+$/, '')
  return { hostname, domain: pod.spec.subdomain ? `${pod.spec.subdomain}.${namespaceOf(pod)}.svc.${clusterDomain}` : '' }
}

export function namespaceOptions(pod: Pod, targetId?: string): NamespaceOption {
  return {
    network: pod.spec.hostNetwork ? 'NODE' : 'POD',
    ipc: pod.spec.hostIPC ? 'NODE' : 'POD',
    pid: pod.spec.hostPID ? 'NODE' : targetId ? 'TARGET' : pod.spec.shareProcessNamespace ? 'POD' : 'CONTAINER',
    ...(targetId && !pod.spec.hostPID ? { targetId } : {}),
  }
}

export function seccompOf(profile: SeccompProfile | undefined, rootDir: string): SecurityProfile | undefined {
  if (!profile) return undefined
  if (profile.type === 'Localhost') return { profileType: 'Localhost', localhostRef: join(rootDir, 'seccomp', profile.localhostProfile ?? '') }
  return { profileType: profile.type === 'RuntimeDefault' ? 'RuntimeDefault' : 'Unconfined' }
}

export const milliToShares = (milli: number): number => (milli === 0 ? 2 : Math.min(262_144, Math.max(2, Math.floor((milli * 1024) / 1000))))
export const milliToQuota = (milli: number, period = 100_000): number => (milli === 0 ? 0 : Math.max(1000, Math.floor((milli * period) / 1000)))

function podResources(pod: Pod): LinuxContainerResources {
  const requests = podRequests(pod)
  const limits = podLimits(pod)
  const cpu = amountValue(requests, 'cpu')
  const cpuLimit = amountValue(limits, 'cpu')
  const memory = amountValue(limits, 'memory')
  return {
    cpuPeriod: 100_000,
    cpuShares: milliToShares(cpu || cpuLimit),
    ...(cpuLimit ? { cpuQuota: milliToQuota(cpuLimit) } : {}),
    ...(memory ? { memoryLimitInBytes: memory } : {}),
  }
}

/** The cgroup of a Pod, in cgroupfs form. */
export function podCgroup(pod: Pod, root = ''): string {
  const qos = computeQOSClass(pod)
  const part = qos === 'Guaranteed' ? '' : `/${qos.toLowerCase()}`
  return `${root}/kubepods${part}/pod${uidOf(pod)}`
}

/** Throws when the Pod's name cannot be a host name. */
export function sandboxConfig(pod: Pod, attempt: number, options: SandboxOptions): PodSandboxConfig {
  const hostNetwork = pod.spec.hostNetwork === true
  const { hostname, domain } = hostnameOf(pod, options.clusterDomain)
  let kernelName = hostname
  if (pod.spec.setHostnameAsFQDN && domain) {
    kernelName = `${hostname}.${domain}`
    if (kernelName.length > 64) {
      throw new Error(
        `failed to construct FQDN from pod hostname and cluster domain, FQDN ${kernelName} is too long (64 characters is the max, ${kernelName.length} characters requested)`,
      )
    }
  }
  const sc = pod.spec.securityContext ?? {}
  const ports: PortMapping[] = []
  if (!hostNetwork) {
    for (const c of allContainers(pod)) {
      for (const p of c.ports ?? []) {
        if (!p.hostPort) continue
        const protocol: PortMapping['protocol'] = p.protocol === 'UDP' ? 'UDP' : p.protocol === 'SCTP' ? 'SCTP' : 'TCP'
        ports.push({ protocol, containerPort: p.containerPort, hostPort: p.hostPort, hostIp: p.hostIP ?? '' })
      }
    }
  }
  return {
    metadata: { name: nameOf(pod), namespace: namespaceOf(pod), uid: uidOf(pod), attempt },
    hostname: hostNetwork ? '' : kernelName,
    logDirectory: podLogDir(options.logDir, pod),
    dnsConfig: options.dns,
    portMappings: ports,
    labels: {
      ...pod.metadata.labels,
      [runtimeLabels.podName]: nameOf(pod),
      [runtimeLabels.podNamespace]: namespaceOf(pod),
      [runtimeLabels.podUid]: uidOf(pod),
    },
    annotations: { ...pod.metadata.annotations },
    linux: {
      cgroupParent: options.cgroupRoot === undefined ? '' : podCgroup(pod, options.cgroupRoot),
      sysctls: Object.fromEntries((sc.sysctls ?? []).map((s) => [s.name, s.value])),
      resources: podResources(pod),
      ...(pod.spec.overhead ? { overhead: { cpuShares: milliToShares(milliValue(pod.spec.overhead['cpu'])) } } : {}),
      securityContext: {
        namespaceOptions: namespaceOptions(pod),
        privileged: allContainers(pod).some((c) => c.securityContext?.privileged === true),
        seccomp: { profileType: 'RuntimeDefault' },
        supplementalGroups: [...(sc.fsGroup === undefined ? [] : [sc.fsGroup]), ...(sc.supplementalGroups ?? [])],
        ...(sc.supplementalGroupsPolicy ? { supplementalGroupsPolicy: sc.supplementalGroupsPolicy as 'Merge' | 'Strict' } : {}),
        ...(sc.runAsUser === undefined ? {} : { runAsUser: sc.runAsUser }),
        ...(sc.runAsGroup === undefined || sc.runAsUser === undefined ? {} : { runAsGroup: sc.runAsGroup }),
        ...(sc.seLinuxOptions ? { seLinuxOptions: seLinux(sc.seLinuxOptions) } : {}),
      },
    },
  }
}

export function seLinux(o: { user?: string; role?: string; type?: string; level?: string }) {
  return { user: o.user ?? '', role: o.role ?? '', type: o.type ?? '', level: o.level ?? '' }
}
