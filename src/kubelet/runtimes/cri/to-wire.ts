import type {
  ContainerConfig,
  ContainerFilter,
  ImageSpec,
  LinuxContainerResources,
  LinuxContainerSecurityContext,
  LinuxSandboxSecurityContext,
  Mount,
  NamespaceOption,
  PodSandboxConfig,
  PodSandboxFilter,
} from '../../runtime/runtime.ts'
import type { Message } from './message-codec.ts'

/** The contract's shapes as messages of runtime.v1. */
const wrapped = (n: number | undefined) => (n === undefined ? undefined : { value: n })

export function imageSpec(image: ImageSpec): Message {
  return { image: image.image, annotations: image.annotations ?? {}, user_specified_image: image.userSpecifiedImage, runtime_handler: image.runtimeHandler }
}

export function sandboxConfig(c: PodSandboxConfig): Message {
  return {
    metadata: { ...c.metadata },
    hostname: c.hostname,
    log_directory: c.logDirectory,
    dns_config: c.dnsConfig,
    port_mappings: c.portMappings.map((p) => ({ protocol: p.protocol, container_port: p.containerPort, host_port: p.hostPort, host_ip: p.hostIp })),
    labels: c.labels,
    annotations: c.annotations,
    linux: {
      cgroup_parent: c.linux.cgroupParent,
      security_context: sandboxSecurity(c.linux.securityContext),
      sysctls: c.linux.sysctls,
      overhead: c.linux.overhead && resources(c.linux.overhead),
      resources: c.linux.resources && resources(c.linux.resources),
    },
  }
}

function sandboxSecurity(s: LinuxSandboxSecurityContext): Message {
  return {
    namespace_options: namespaces(s.namespaceOptions),
    selinux_options: s.seLinuxOptions,
    run_as_user: wrapped(s.runAsUser),
    run_as_group: wrapped(s.runAsGroup),
    readonly_rootfs: s.readonlyRootfs,
    supplemental_groups: s.supplementalGroups,
    supplemental_groups_policy: s.supplementalGroupsPolicy,
    privileged: s.privileged,
    seccomp: profile(s.seccomp),
    apparmor: profile(s.apparmor),
  }
}

function namespaces(n: NamespaceOption): Message {
  const ids = (list: readonly { hostId: number; containerId: number; length: number }[]) =>
    list.map((m) => ({ host_id: m.hostId, container_id: m.containerId, length: m.length }))
  return {
    network: n.network,
    pid: n.pid,
    ipc: n.ipc,
    target_id: n.targetId,
    userns_options: n.usernsOptions && { mode: n.usernsOptions.mode, uids: ids(n.usernsOptions.uids), gids: ids(n.usernsOptions.gids) },
  }
}

function profile(p: { profileType: string; localhostRef?: string } | undefined): Message | undefined {
  return p && { profile_type: p.profileType, localhost_ref: p.localhostRef }
}

export function resources(r: LinuxContainerResources): Message {
  return {
    cpu_period: r.cpuPeriod,
    cpu_quota: r.cpuQuota,
    cpu_shares: r.cpuShares,
    memory_limit_in_bytes: r.memoryLimitInBytes,
    oom_score_adj: r.oomScoreAdj,
    cpuset_cpus: r.cpusetCpus,
    cpuset_mems: r.cpusetMems,
    hugepage_limits: r.hugepageLimits?.map((h) => ({ page_size: h.pageSize, limit: h.limit })),
    unified: r.unified,
    memory_swap_limit_in_bytes: r.memorySwapLimitInBytes,
  }
}

function security(s: LinuxContainerSecurityContext): Message {
  return {
    capabilities: s.capabilities && { add_capabilities: s.capabilities.addCapabilities, drop_capabilities: s.capabilities.dropCapabilities },
    privileged: s.privileged,
    namespace_options: namespaces(s.namespaceOptions),
    selinux_options: s.selinuxOptions,
    run_as_user: wrapped(s.runAsUser),
    run_as_group: wrapped(s.runAsGroup),
    run_as_username: s.runAsUsername,
    readonly_rootfs: s.readonlyRootfs,
    supplemental_groups: s.supplementalGroups,
    supplemental_groups_policy: s.supplementalGroupsPolicy,
    no_new_privs: s.noNewPrivs,
    masked_paths: s.maskedPaths,
    readonly_paths: s.readonlyPaths,
    seccomp: profile(s.seccomp),
    apparmor: profile(s.apparmor),
  }
}

function mount(m: Mount): Message {
  return {
    container_path: m.containerPath,
    host_path: m.hostPath,
    readonly: m.readonly,
    selinux_relabel: m.selinuxRelabel,
    propagation: `PROPAGATION_${m.propagation}`,
    recursive_read_only: m.recursiveReadOnly,
    image: m.image && imageSpec(m.image),
    image_sub_path: m.imageSubPath,
  }
}

export function containerConfig(c: ContainerConfig): Message {
  return {
    metadata: { ...c.metadata },
    image: imageSpec(c.image),
    command: c.command,
    args: c.args,
    working_dir: c.workingDir,
    envs: c.envs,
    mounts: c.mounts.map(mount),
    devices: c.devices.map((d) => ({ container_path: d.containerPath, host_path: d.hostPath, permissions: d.permissions })),
    labels: c.labels,
    annotations: c.annotations,
    log_path: c.logPath,
    stdin: c.stdin,
    stdin_once: c.stdinOnce,
    tty: c.tty,
    linux: { resources: resources(c.linux.resources), security_context: security(c.linux.securityContext) },
    CDI_devices: (c.cdiDevices ?? []).map((name) => ({ name })),
    stop_signal: c.stopSignal,
  }
}

export function containerFilter(f: ContainerFilter | undefined): Message | undefined {
  return f && { id: f.id, state: f.state && { state: `CONTAINER_${f.state}` }, pod_sandbox_id: f.podSandboxId, label_selector: f.labelSelector ?? {} }
}

export function sandboxFilter(f: PodSandboxFilter | undefined): Message | undefined {
  return f && { id: f.id, state: f.state && { state: `SANDBOX_${f.state}` }, label_selector: f.labelSelector ?? {} }
}
