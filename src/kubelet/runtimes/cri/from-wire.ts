import type {
  Container,
  ContainerState,
  ContainerStats,
  ContainerStatus,
  FilesystemUsage,
  Image,
  ImageSpec,
  LinuxContainerResources,
  Mount,
  NamespaceMode,
  PodSandbox,
  PodSandboxMetadata,
  PodSandboxState,
  PodSandboxStatus,
} from '../../runtime/runtime.ts'
import type { Message } from './message-codec.ts'

/** Messages of runtime.v1 as the contract's shapes. */
const message = (v: unknown) => (v ?? {}) as Message
const text = (v: unknown) => (v ?? '') as string
const map = (v: unknown) => (v ?? {}) as Record<string, string>
const list = (v: unknown) => (v ?? []) as Message[]
/** Nanoseconds to milliseconds. */
const ms = (v: unknown) => (v as number) / 1e6
const unwrapped = (v: unknown) => (v === undefined ? undefined : (message(v).value as number))

function sandboxMetadata(v: unknown): PodSandboxMetadata {
  const m = message(v)
  return { name: text(m.name), uid: text(m.uid), namespace: text(m.namespace), attempt: m.attempt as number }
}

export function sandbox(m: Message): PodSandbox {
  return {
    id: text(m.id),
    metadata: sandboxMetadata(m.metadata),
    state: text(m.state).replace('SANDBOX_', '') as PodSandboxState,
    createdAt: ms(m.created_at),
    labels: map(m.labels),
    annotations: map(m.annotations),
    runtimeHandler: text(m.runtime_handler),
  }
}

export function sandboxStatus(m: Message): PodSandboxStatus {
  const network = message(m.network)
  const options = message(message(message(m.linux).namespaces).options)
  const ips = [text(network.ip), ...list(network.additional_ips).map((p) => text(p.ip))].filter((ip) => ip !== '')
  return {
    ...sandbox(m),
    ips,
    namespaceOptions: {
      network: (options.network ?? 'POD') as NamespaceMode,
      pid: (options.pid ?? 'CONTAINER') as NamespaceMode,
      ipc: (options.ipc ?? 'POD') as NamespaceMode,
    },
  }
}

function imageSpec(v: unknown): ImageSpec {
  const m = message(v)
  return { image: text(m.image), ...(m.user_specified_image ? { userSpecifiedImage: text(m.user_specified_image) } : {}) }
}

const state = (v: unknown) => text(v).replace('CONTAINER_', '') as ContainerState

export function container(m: Message): Container {
  const metadata = message(m.metadata)
  return {
    id: text(m.id),
    podSandboxId: text(m.pod_sandbox_id),
    metadata: { name: text(metadata.name), attempt: metadata.attempt as number },
    image: imageSpec(m.image),
    imageRef: text(m.image_ref),
    state: state(m.state),
    createdAt: ms(m.created_at),
    labels: map(m.labels),
    annotations: map(m.annotations),
    ...(m.image_id ? { imageId: text(m.image_id) } : {}),
  }
}

function mount(m: Message): Mount {
  return {
    containerPath: text(m.container_path),
    hostPath: text(m.host_path),
    readonly: m.readonly === true,
    propagation: text(m.propagation).replace('PROPAGATION_', '') as Mount['propagation'],
    ...(m.recursive_read_only ? { recursiveReadOnly: true } : {}),
  }
}

function resources(v: unknown): LinuxContainerResources {
  const m = message(v)
  return {
    cpuPeriod: m.cpu_period as number,
    cpuQuota: m.cpu_quota as number,
    cpuShares: m.cpu_shares as number,
    memoryLimitInBytes: m.memory_limit_in_bytes as number,
    oomScoreAdj: m.oom_score_adj as number,
    cpusetCpus: text(m.cpuset_cpus),
    cpusetMems: text(m.cpuset_mems),
  }
}

export function containerStatus(m: Message): ContainerStatus {
  const metadata = message(m.metadata)
  const user = message(m.user).linux as Message | undefined
  const linux = message(m.resources).linux
  return {
    id: text(m.id),
    metadata: { name: text(metadata.name), attempt: metadata.attempt as number },
    state: state(m.state),
    createdAt: ms(m.created_at),
    startedAt: ms(m.started_at),
    finishedAt: ms(m.finished_at),
    exitCode: m.exit_code as number,
    image: imageSpec(m.image),
    imageRef: text(m.image_ref),
    ...(m.image_id ? { imageId: text(m.image_id) } : {}),
    reason: text(m.reason),
    message: text(m.message),
    labels: map(m.labels),
    annotations: map(m.annotations),
    mounts: list(m.mounts).map(mount),
    logPath: text(m.log_path),
    ...(linux ? { resources: resources(linux) } : {}),
    ...(user ? { user: { uid: user.uid as number, gid: user.gid as number, supplementalGroups: (user.supplemental_groups ?? []) as number[] } } : {}),
  }
}

export function image(m: Message): Image {
  return {
    id: text(m.id),
    repoTags: m.repo_tags as string[],
    repoDigests: m.repo_digests as string[],
    size: m.size as number,
    ...(m.uid ? { uid: unwrapped(m.uid) as number } : {}),
    username: text(m.username),
    pinned: m.pinned === true,
  }
}

export function filesystem(m: Message): FilesystemUsage {
  const usedBytes = unwrapped(m.used_bytes)
  const inodesUsed = unwrapped(m.inodes_used)
  return {
    timestamp: ms(m.timestamp),
    mountpoint: text(message(m.fs_id).mountpoint),
    ...(usedBytes === undefined ? {} : { usedBytes }),
    ...(inodesUsed === undefined ? {} : { inodesUsed }),
  }
}

export function containerStats(m: Message): ContainerStats {
  const attributes = message(m.attributes)
  const metadata = message(attributes.metadata)
  const cpu = m.cpu as Message | undefined
  const memory = m.memory as Message | undefined
  const optional = (name: string, v: unknown) => {
    const n = unwrapped(v)
    return n === undefined ? {} : { [name]: n }
  }
  return {
    id: text(attributes.id),
    metadata: { name: text(metadata.name), attempt: metadata.attempt as number },
    labels: map(attributes.labels),
    annotations: map(attributes.annotations),
    ...(cpu
      ? {
          cpu: {
            timestamp: ms(cpu.timestamp),
            usageCoreNanoSeconds: unwrapped(cpu.usage_core_nano_seconds) ?? 0,
            ...optional('usageNanoCores', cpu.usage_nano_cores),
          },
        }
      : {}),
    ...(memory
      ? {
          memory: {
            timestamp: ms(memory.timestamp),
            workingSetBytes: unwrapped(memory.working_set_bytes) ?? 0,
            ...optional('availableBytes', memory.available_bytes),
            ...optional('usageBytes', memory.usage_bytes),
            ...optional('rssBytes', memory.rss_bytes),
            ...optional('pageFaults', memory.page_faults),
            ...optional('majorPageFaults', memory.major_page_faults),
          },
        }
      : {}),
    ...(m.writable_layer ? { writableLayer: filesystem(message(m.writable_layer)) } : {}),
  }
}
