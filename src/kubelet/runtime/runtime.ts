/**
 * The kubelet's seam to whatever runs containers, in the terms of CRI v1 (runtime.v1): one method per call, camelCase
 * names, messages flattened only where a wrapper held a single field.
 *
 * Lifecycle: `runPodSandbox` → (`pullImage`) → `createContainer` → `startContainer` → `stopContainer` → `removeContainer`
 * → `stopPodSandbox` → `removePodSandbox`. Stop and remove are idempotent: an id the runtime does not know is success.
 * Removing a sandbox stops and removes its containers.
 *
 * Units: times are milliseconds since the Unix epoch, 0 for "never" (CRI: int64 nanoseconds); timeouts and grace periods
 * are seconds; sizes are bytes; `usageCoreNanoSeconds` and `usageNanoCores` are what they say.
 *
 * Errors: a `RuntimeError` whose `code` is the gRPC status name; its message is the status' details, and is shown to users as it
 * is (`rpc error: code = <code> desc = <details>` is what `message` must hold, as a Go client would print it). Methods with a
 * `signal` reject with its reason when aborted.
 *
 * Concurrency: calls for different Pods run concurrently; the kubelet never runs two mutating calls for one Pod at a time, except
 * that `stopContainer` calls of one Pod are concurrent.
 */
export interface ContainerRuntime {
  /** What container ids are prefixed with, such as `containerd` in `containerd://5f…`. */
  readonly name: string
  version(): Promise<RuntimeVersion>
  status(): Promise<RuntimeStatus>

  /** Resolves with the sandbox id when the sandbox and its network are up. */
  runPodSandbox(config: PodSandboxConfig, runtimeHandler?: string, signal?: AbortSignal): Promise<string>
  stopPodSandbox(id: string): Promise<void>
  removePodSandbox(id: string): Promise<void>
  /** Rejects with NotFound for an unknown id. */
  podSandboxStatus(id: string): Promise<PodSandboxStatus>
  listPodSandboxes(filter?: PodSandboxFilter): Promise<PodSandbox[]>

  /** Resolves with the container id. `sandboxConfig` is the one the sandbox was run with. */
  createContainer(sandboxId: string, config: ContainerConfig, sandboxConfig: PodSandboxConfig): Promise<string>
  startContainer(id: string): Promise<void>
  /** Sends the stop signal, then kills after `timeoutSeconds` (0: at once); resolves when the container has ended. */
  stopContainer(id: string, timeoutSeconds: number): Promise<void>
  /** Removes the container (killing it if it runs) and its log's record, not the log file. */
  removeContainer(id: string): Promise<void>
  listContainers(filter?: ContainerFilter): Promise<Container[]>
  /** Rejects with NotFound for an unknown id. */
  containerStatus(id: string): Promise<ContainerStatus>
  updateContainerResources(id: string, resources: LinuxContainerResources): Promise<void>
  /** Called after the log file was renamed. */
  reopenContainerLog(id: string): Promise<void>

  /** Runs a command to its end. `timeoutSeconds` 0 means none; when it runs out rejects with DeadlineExceeded. Output is cut at 16 MiB. */
  execSync(id: string, command: readonly string[], timeoutSeconds: number): Promise<ExecSyncResult>
  readonly streaming: StreamingRuntime | StreamingUrls

  containerStats(id: string): Promise<ContainerStats>
  listContainerStats(filter?: ContainerFilter): Promise<ContainerStats[]>

  /**
   * Something happened to a container or sandbox of this runtime. A wake-up only: it may come before list calls show the change, may be
   * lost, and may be about nothing. Resolves (or rejects) when the stream ended; the kubelet calls again after a pause, and relists anyway.
   */
  events(onEvent: (event: RuntimeEvent) => void, signal: AbortSignal): Promise<void>

  readonly images: ImageService

  /** How the log of a container is read; absent: the CRI log file at `<logDirectory>/<logPath>` on disk. */
  readonly logs?: ContainerLogs
  /** Set by runtimes without a network or files behind their Pods: volumes are resolved but not written, and probes and hooks are answered here. */
  readonly pretend?: PretendRuntime
  /** True when `events` loses nothing while it runs, so that relisting can be rare. */
  readonly eventsReliable?: boolean
  /** For a runtime made of several: the one that holds this container or sandbox; `name`, `logs`, `pretend` and `streaming` are asked there. */
  route?(id: string): ContainerRuntime
  /** The same by runtime handler, for a Pod that has no sandbox yet. */
  forHandler?(handler: string): ContainerRuntime
  /** The local Pod CIDR, once the Node object has one (CRI UpdateRuntimeConfig). */
  updateRuntimeConfig?(podCIDR: string): Promise<void>
  /** The runtime's cgroup driver, if it tells (CRI RuntimeConfig). */
  cgroupDriver?(): Promise<'systemd' | 'cgroupfs' | undefined>
}

export interface ImageService {
  /** Resolves with the image's id or digest reference. */
  pullImage(image: ImageSpec, auth: AuthConfig | undefined, sandboxConfig: PodSandboxConfig | undefined, signal?: AbortSignal): Promise<string>
  /** Undefined when the image is not present. */
  imageStatus(image: ImageSpec): Promise<Image | undefined>
  listImages(): Promise<Image[]>
  removeImage(image: ImageSpec): Promise<void>
  imageFsInfo(): Promise<{ imageFilesystems: FilesystemUsage[]; containerFilesystems: FilesystemUsage[] }>
}

/** The gRPC status names a runtime answers with. */
export type RuntimeErrorCode =
  | 'NotFound'
  | 'Unknown'
  | 'InvalidArgument'
  | 'DeadlineExceeded'
  | 'ResourceExhausted'
  | 'Unavailable'
  | 'Unimplemented'
  | 'AlreadyExists'
  | 'FailedPrecondition'
  | 'Internal'
  | 'Canceled'
  | 'PermissionDenied'

export class RuntimeError extends Error {
  readonly code: RuntimeErrorCode
  /** The bare text of the runtime. */
  readonly details: string
  constructor(code: RuntimeErrorCode, details: string, cause?: unknown) {
    super(`rpc error: code = ${code} desc = ${details}`, cause === undefined ? undefined : { cause })
    this.name = 'RuntimeError'
    this.code = code
    this.details = details
  }
}

export const isRuntimeNotFound = (error: unknown): boolean => error instanceof RuntimeError && error.code === 'NotFound'

export interface RuntimeVersion {
  runtimeName: string
  runtimeVersion: string
  runtimeApiVersion: string
}

export interface RuntimeStatus {
  /** Types `RuntimeReady` and `NetworkReady`. */
  conditions: RuntimeCondition[]
  runtimeHandlers: RuntimeHandler[]
  features?: { supplementalGroupsPolicy?: boolean; userNamespacesHostNetwork?: boolean }
}

export interface RuntimeCondition {
  type: string
  status: boolean
  reason: string
  message: string
}

export interface RuntimeHandler {
  name: string
  features?: { recursiveReadOnlyMounts?: boolean; userNamespaces?: boolean }
}

export type NamespaceMode = 'POD' | 'CONTAINER' | 'NODE' | 'TARGET'

export interface NamespaceOption {
  network: NamespaceMode
  pid: NamespaceMode
  ipc: NamespaceMode
  /** For pid TARGET. */
  targetId?: string
  usernsOptions?: { mode: NamespaceMode; uids: IdMapping[]; gids: IdMapping[] }
}

export interface IdMapping {
  hostId: number
  containerId: number
  length: number
}

export interface PodSandboxMetadata {
  name: string
  uid: string
  namespace: string
  attempt: number
}

export interface PodSandboxConfig {
  metadata: PodSandboxMetadata
  /** Empty for host network. */
  hostname: string
  /** Absolute folder of the Pod's logs. */
  logDirectory: string
  dnsConfig?: { servers: string[]; searches: string[]; options: string[] }
  portMappings: PortMapping[]
  labels: Record<string, string>
  annotations: Record<string, string>
  linux: LinuxPodSandboxConfig
}

export interface PortMapping {
  protocol: 'TCP' | 'UDP' | 'SCTP'
  containerPort: number
  hostPort: number
  hostIp: string
}

export interface LinuxPodSandboxConfig {
  cgroupParent: string
  securityContext: LinuxSandboxSecurityContext
  sysctls: Record<string, string>
  overhead?: LinuxContainerResources
  resources?: LinuxContainerResources
}

export interface LinuxSandboxSecurityContext {
  namespaceOptions: NamespaceOption
  seLinuxOptions?: SELinuxOption
  runAsUser?: number
  runAsGroup?: number
  readonlyRootfs?: boolean
  supplementalGroups: number[]
  supplementalGroupsPolicy?: 'Merge' | 'Strict'
  privileged: boolean
  seccomp?: SecurityProfile
  apparmor?: SecurityProfile
}

export interface SecurityProfile {
  profileType: 'RuntimeDefault' | 'Unconfined' | 'Localhost'
  /** Absolute path for seccomp, profile name for AppArmor; only for Localhost. */
  localhostRef?: string
}

export interface SELinuxOption {
  user: string
  role: string
  type: string
  level: string
}

export type PodSandboxState = 'READY' | 'NOTREADY'

export interface PodSandbox {
  id: string
  metadata: PodSandboxMetadata
  state: PodSandboxState
  createdAt: number
  labels: Record<string, string>
  annotations: Record<string, string>
  runtimeHandler: string
}

export interface PodSandboxStatus extends PodSandbox {
  /** Empty for host network and after the sandbox was stopped. */
  ips: string[]
  namespaceOptions: NamespaceOption
}

export interface PodSandboxFilter {
  id?: string
  state?: PodSandboxState
  labelSelector?: Record<string, string>
}

export interface ImageSpec {
  /** Reference or id. */
  image: string
  annotations?: Record<string, string>
  /** The name as the user wrote it, when `image` is a resolved id. */
  userSpecifiedImage?: string
  runtimeHandler?: string
}

export interface Image {
  id: string
  repoTags: string[]
  repoDigests: string[]
  size: number
  uid?: number
  username: string
  pinned: boolean
}

export interface AuthConfig {
  username?: string
  password?: string
  auth?: string
  serverAddress?: string
  identityToken?: string
  registryToken?: string
}

export interface ContainerMetadata {
  name: string
  attempt: number
}

export interface ContainerConfig {
  metadata: ContainerMetadata
  image: ImageSpec
  command: string[]
  args: string[]
  workingDir: string
  envs: { key: string; value: string }[]
  mounts: Mount[]
  devices: { containerPath: string; hostPath: string; permissions: string }[]
  labels: Record<string, string>
  annotations: Record<string, string>
  /** Relative to the sandbox's log directory. */
  logPath: string
  stdin: boolean
  stdinOnce: boolean
  tty: boolean
  linux: { resources: LinuxContainerResources; securityContext: LinuxContainerSecurityContext }
  cdiDevices?: string[]
  stopSignal?: string
  /** The container's role in its Pod. Not part of CRI: for runtimes inside this process only. */
  role?: 'init' | 'sidecar' | 'regular' | 'ephemeral'
}

export interface Mount {
  containerPath: string
  hostPath: string
  readonly: boolean
  selinuxRelabel?: boolean
  propagation: 'PRIVATE' | 'HOST_TO_CONTAINER' | 'BIDIRECTIONAL'
  recursiveReadOnly?: boolean
  /** An image volume; hostPath is empty then. */
  image?: ImageSpec
  imageSubPath?: string
}

export interface LinuxContainerResources {
  cpuPeriod?: number
  cpuQuota?: number
  cpuShares?: number
  memoryLimitInBytes?: number
  oomScoreAdj?: number
  cpusetCpus?: string
  cpusetMems?: string
  hugepageLimits?: { pageSize: string; limit: number }[]
  unified?: Record<string, string>
  memorySwapLimitInBytes?: number
}

export interface LinuxContainerSecurityContext {
  capabilities?: { addCapabilities: string[]; dropCapabilities: string[] }
  privileged: boolean
  namespaceOptions: NamespaceOption
  selinuxOptions?: SELinuxOption
  runAsUser?: number
  runAsGroup?: number
  runAsUsername?: string
  readonlyRootfs: boolean
  supplementalGroups: number[]
  supplementalGroupsPolicy?: 'Merge' | 'Strict'
  noNewPrivs: boolean
  maskedPaths: string[]
  readonlyPaths: string[]
  seccomp?: SecurityProfile
  apparmor?: SecurityProfile
}

export type ContainerState = 'CREATED' | 'RUNNING' | 'EXITED' | 'UNKNOWN'

export interface Container {
  id: string
  podSandboxId: string
  metadata: ContainerMetadata
  image: ImageSpec
  imageRef: string
  state: ContainerState
  createdAt: number
  labels: Record<string, string>
  annotations: Record<string, string>
  imageId?: string
}

export interface ContainerFilter {
  id?: string
  state?: ContainerState
  podSandboxId?: string
  labelSelector?: Record<string, string>
}

export interface ContainerStatus {
  id: string
  metadata: ContainerMetadata
  state: ContainerState
  createdAt: number
  startedAt: number
  finishedAt: number
  exitCode: number
  /** `image` is the resolved name the status shows, such as `docker.io/library/nginx:1.27`. */
  image: ImageSpec
  /** The repository digest, else the id: what `imageID` of the API shows. */
  imageRef: string
  imageId?: string
  /** Only meaningful when EXITED. */
  reason: string
  message: string
  labels: Record<string, string>
  annotations: Record<string, string>
  mounts: Mount[]
  /** Absolute path of the log. */
  logPath: string
  resources?: LinuxContainerResources
  user?: { uid: number; gid: number; supplementalGroups: number[] }
}

export interface ExecSyncResult {
  stdout: Uint8Array
  stderr: Uint8Array
  exitCode: number
}

export interface FilesystemUsage {
  timestamp: number
  mountpoint: string
  usedBytes?: number
  inodesUsed?: number
}

export interface ContainerStats {
  id: string
  metadata: ContainerMetadata
  labels: Record<string, string>
  annotations: Record<string, string>
  cpu?: { timestamp: number; usageCoreNanoSeconds: number; usageNanoCores?: number }
  memory?: {
    timestamp: number
    workingSetBytes: number
    availableBytes?: number
    usageBytes?: number
    rssBytes?: number
    pageFaults?: number
    majorPageFaults?: number
  }
  writableLayer?: FilesystemUsage
}

export interface RuntimeEvent {
  type: 'CREATED' | 'STARTED' | 'STOPPED' | 'DELETED'
  containerId: string
  /** Uid of the Pod, when known. */
  podUid?: string
}

/** A sink for one output stream; a rejected or slow `write` is back-pressure. */
export interface OutputStream {
  write(chunk: Uint8Array): void | Promise<void>
}

export interface TerminalSize {
  width: number
  height: number
}

export interface StreamOptions {
  stdin?: AsyncIterable<Uint8Array>
  stdout?: OutputStream
  /** Absent with a terminal. */
  stderr?: OutputStream
  tty: boolean
  /** Terminal sizes as they change. */
  resize?: AsyncIterable<TerminalSize>
  /** The client went away. */
  signal: AbortSignal
}

/** Streams carried by the runtime itself; the kubelet's server speaks SPDY and WebSocket to the client. */
export interface StreamingRuntime {
  readonly kind: 'direct'
  /** Resolves with the exit code when the command ended; rejects with RuntimeError when it could not run. */
  exec(containerId: string, command: readonly string[], options: StreamOptions): Promise<number>
  /** Resolves when the container ended or the client went. */
  attach(containerId: string, options: StreamOptions): Promise<void>
  /** Joins a byte stream to a port inside the Pod's network; resolves when both ways are closed. */
  portForward(sandboxId: string, port: number, stream: { input: AsyncIterable<Uint8Array>; output: OutputStream; signal: AbortSignal }): Promise<void>
}

/** Streams carried by the runtime's own streaming server: each call gives a single-use URL, to which the kubelet joins the client's upgraded connection. */
export interface StreamingUrls {
  readonly kind: 'url'
  exec(request: { containerId: string; cmd: readonly string[]; tty: boolean; stdin: boolean; stdout: boolean; stderr: boolean }): Promise<string>
  attach(request: { containerId: string; tty: boolean; stdin: boolean; stdout: boolean; stderr: boolean }): Promise<string>
  portForward(request: { podSandboxId: string; ports: readonly number[] }): Promise<string>
}

/** Logs that are not files. */
export interface ContainerLogs {
  /**
   * The lines of a container's log in CRI form (`<RFC 3339 nano> <stdout|stderr> <F|P> <text>`, without newline), oldest first. With
   * `follow` goes on until the container ended or the signal is aborted.
   */
  read(containerId: string, options: { follow: boolean; signal?: AbortSignal }): AsyncIterable<string>
}

/** What the kubelet asks a runtime whose Pods have no network or files. */
export interface PretendRuntime {
  /** The outcome a probe or HTTP hook of the container has at this moment. */
  probe(containerId: string, type: 'liveness' | 'readiness' | 'startup' | 'hook'): { ok: boolean; output: string }
}

/** Labels and annotations by which the kubelet knows its sandboxes and containers again. */
export const runtimeLabels = {
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUid: 'io.kubernetes.pod.uid',
  containerName: 'io.kubernetes.container.name',
} as const

export const runtimeAnnotations = {
  hash: 'io.kubernetes.container.hash',
  restartCount: 'io.kubernetes.container.restartCount',
  terminationMessagePath: 'io.kubernetes.container.terminationMessagePath',
  terminationMessagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
  podTerminationGracePeriod: 'io.kubernetes.pod.terminationGracePeriod',
  podDeletionGracePeriod: 'io.kubernetes.pod.deletionGracePeriod',
  preStopHandler: 'io.kubernetes.container.preStopHandler',
  containerPorts: 'io.kubernetes.container.ports',
} as const
