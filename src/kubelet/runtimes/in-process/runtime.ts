import type { Clock, Random } from '../../../base/index.ts'
import {
  type Container,
  type ContainerConfig,
  type ContainerFilter,
  type ContainerLogs,
  type ContainerRuntime,
  type ContainerState,
  type ContainerStats,
  type ContainerStatus,
  type ExecSyncResult,
  type ImageService,
  type LinuxContainerResources,
  type PodSandbox,
  type PodSandboxConfig,
  type PodSandboxFilter,
  type PodSandboxStatus,
  type PretendRuntime,
  RuntimeError,
  type RuntimeEvent,
  type RuntimeStatus,
  type RuntimeVersion,
  runtimeLabels,
  type StreamingRuntime,
} from '../../runtime/runtime.ts'
import { LogBuffer } from './log-buffer.ts'

/** How a container ended. */
export interface Exit {
  code: number
  reason?: string
  message?: string
}

export interface SandboxRecord {
  id: string
  config: PodSandboxConfig
  state: 'READY' | 'NOTREADY'
  createdAt: number
  ips: string[]
  runtimeHandler: string
}

export interface ContainerRecord {
  id: string
  sandbox: SandboxRecord
  config: ContainerConfig
  state: ContainerState
  createdAt: number
  startedAt: number
  finishedAt: number
  exit: Exit
  image: { name: string; ref: string; id: string }
  resources: LinuxContainerResources
  log: LogBuffer
  /** Asks the process to end; set while it runs. */
  stop?: AbortController
  ended?: Promise<void>
  /** Ends the wait for a process that does not stop by itself. */
  kill?: () => void
}

/** What stands behind the containers of an in-process runtime. */
export interface ContainerEngine {
  readonly name: string
  readonly version: string
  readonly images: ImageService
  /** Rejects when the sandbox is refused; resolves with its addresses. */
  openSandbox(config: PodSandboxConfig, signal: AbortSignal | undefined): Promise<string[]>
  closeSandbox(sandbox: SandboxRecord): void
  /** Rejects when the container cannot be made. */
  create(sandbox: SandboxRecord, config: ContainerConfig): Promise<void>
  /** Rejects when the container cannot be started. Otherwise resolves with a promise of its end, which follows the abort of `signal`. */
  start(container: ContainerRecord, signal: AbortSignal): Promise<{ ended: Promise<Exit> }>
  exec(container: ContainerRecord, command: readonly string[]): Promise<ExecSyncResult>
  stats?(container: ContainerRecord): { cpuNanoCores: number; memoryBytes: number }
  readonly pretend?: (container: ContainerRecord, type: 'liveness' | 'readiness' | 'startup' | 'hook') => { ok: boolean; output: string }
  /** The longest a stop waits whatever the grace period, in seconds. */
  readonly maxStopSeconds?: number
}

const matches = (labels: Record<string, string>, selector: Record<string, string> | undefined): boolean =>
  !selector || Object.entries(selector).every(([k, v]) => Object.hasOwn(labels, k) && labels[k] === v)

async function drain(input: AsyncIterable<Uint8Array> | undefined): Promise<void> {
  for await (const chunk of input ?? []) void chunk
}

/** The bookkeeping of CRI over an engine in this process: sandboxes, containers, states, ids, events, logs. */
export class InProcessRuntime implements ContainerRuntime {
  readonly name: string
  readonly images: ImageService
  readonly eventsReliable = true
  readonly logs: ContainerLogs
  readonly streaming: StreamingRuntime
  readonly pretend?: PretendRuntime
  private readonly sandboxes = new Map<string, SandboxRecord>()
  private readonly containers = new Map<string, ContainerRecord>()
  private readonly byPod = new Map<string, Set<string>>()
  private readonly listeners = new Set<(event: RuntimeEvent) => void>()
  private readonly clock: Clock
  private readonly random: Random
  private readonly engine: ContainerEngine

  constructor(options: { clock: Clock; random: Random; engine: ContainerEngine }) {
    this.clock = options.clock
    this.random = options.random
    this.engine = options.engine
    this.name = options.engine.name
    this.images = options.engine.images
    this.logs = { read: (id, o) => this.container(id).log.read(o.follow, o.signal) }
    const { pretend } = options.engine
    if (pretend) this.pretend = { probe: (id, type) => pretend(this.container(id), type) }
    this.streaming = {
      kind: 'direct',
      exec: async (id, command, o) => {
        const result = await this.engine.exec(this.running(id), command)
        if (result.stdout.length) await o.stdout?.write(result.stdout)
        if (result.stderr.length) await (o.stderr ?? o.stdout)?.write(result.stderr)
        return result.exitCode
      },
      attach: async (id, o) => {
        const record = this.running(id)
        // Nobody reads what is typed; it must not stand in the way of the connection's end.
        void drain(o.stdin).catch(() => {})
        for await (const line of record.log.read(true, o.signal)) {
          const [, stream, , ...text] = line.split(' ')
          const out = stream === 'stderr' ? (o.stderr ?? o.stdout) : o.stdout
          await out?.write(new TextEncoder().encode(`${text.join(' ')}${o.tty ? '\r\n' : '\n'}`))
        }
      },
      portForward: async (_id, port) => {
        throw new RuntimeError('Unimplemented', `the ${this.name} runtime has no network behind its Pods: port ${port} cannot be reached`)
      },
    }
  }

  async version(): Promise<RuntimeVersion> {
    return { runtimeName: this.name, runtimeVersion: this.engine.version, runtimeApiVersion: 'v1' }
  }

  async status(): Promise<RuntimeStatus> {
    const ok = (type: string) => ({ type, status: true, reason: '', message: '' })
    return {
      conditions: [ok('RuntimeReady'), ok('NetworkReady')],
      runtimeHandlers: [{ name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: false } }],
      features: { supplementalGroupsPolicy: true },
    }
  }

  async runPodSandbox(config: PodSandboxConfig, runtimeHandler = '', signal?: AbortSignal): Promise<string> {
    const { metadata } = config
    for (const s of this.sandboxes.values()) {
      const m = s.config.metadata
      if (m.uid === metadata.uid && m.attempt === metadata.attempt && m.name === metadata.name && m.namespace === metadata.namespace) {
        throw new RuntimeError('Unknown', `failed to reserve sandbox name "${metadata.name}_${metadata.namespace}_${metadata.uid}_${metadata.attempt}"`)
      }
    }
    const ips = await this.engine.openSandbox(config, signal)
    const record: SandboxRecord = { id: this.id(), config, state: 'READY', createdAt: this.clock.now(), ips, runtimeHandler }
    this.sandboxes.set(record.id, record)
    this.emit({ type: 'STARTED', containerId: record.id, podUid: metadata.uid })
    return record.id
  }

  async stopPodSandbox(id: string): Promise<void> {
    const sandbox = this.sandboxes.get(id)
    if (!sandbox || sandbox.state === 'NOTREADY') return
    await Promise.all(this.of(sandbox.id).map((c) => this.stopContainer(c.id, 0)))
    sandbox.state = 'NOTREADY'
    this.engine.closeSandbox(sandbox)
    sandbox.ips = []
    this.emit({ type: 'STOPPED', containerId: id, podUid: sandbox.config.metadata.uid })
  }

  async removePodSandbox(id: string): Promise<void> {
    const sandbox = this.sandboxes.get(id)
    if (!sandbox) return
    await this.stopPodSandbox(id)
    for (const c of this.of(id)) await this.removeContainer(c.id)
    this.sandboxes.delete(id)
    this.byPod.delete(id)
    this.emit({ type: 'DELETED', containerId: id, podUid: sandbox.config.metadata.uid })
  }

  async podSandboxStatus(id: string): Promise<PodSandboxStatus> {
    const s = this.sandboxes.get(id)
    if (!s) throw new RuntimeError('NotFound', `an error occurred when try to find sandbox: not found`)
    return { ...sandboxOf(s), ips: [...s.ips], namespaceOptions: s.config.linux.securityContext.namespaceOptions }
  }

  async listPodSandboxes(filter: PodSandboxFilter = {}): Promise<PodSandbox[]> {
    const out: PodSandbox[] = []
    for (const s of this.sandboxes.values()) {
      if (filter.id !== undefined && s.id !== filter.id) continue
      if (filter.state && s.state !== filter.state) continue
      if (matches(s.config.labels, filter.labelSelector)) out.push(sandboxOf(s))
    }
    return out
  }

  async createContainer(sandboxId: string, config: ContainerConfig, _sandboxConfig: PodSandboxConfig): Promise<string> {
    const sandbox = this.sandboxes.get(sandboxId)
    if (sandbox?.state !== 'READY') throw new RuntimeError('Unknown', `failed to find sandbox id "${sandboxId}": not found`)
    const image = await this.images.imageStatus(config.image)
    await this.engine.create(sandbox, config)
    const record: ContainerRecord = {
      id: this.id(),
      sandbox,
      config,
      state: 'CREATED',
      createdAt: this.clock.now(),
      startedAt: 0,
      finishedAt: 0,
      exit: { code: 0 },
      image: {
        name: image?.repoTags[0] ?? config.image.userSpecifiedImage ?? config.image.image,
        ref: image?.repoDigests[0] ?? image?.id ?? config.image.image,
        id: image?.id ?? '',
      },
      resources: config.linux.resources,
      log: new LogBuffer(this.clock),
    }
    this.containers.set(record.id, record)
    let ids = this.byPod.get(sandboxId)
    if (!ids) {
      ids = new Set()
      this.byPod.set(sandboxId, ids)
    }
    ids.add(record.id)
    this.emit({ type: 'CREATED', containerId: record.id, podUid: sandbox.config.metadata.uid })
    return record.id
  }

  async startContainer(id: string): Promise<void> {
    const c = this.container(id)
    if (c.state !== 'CREATED') throw new RuntimeError('Unknown', `container is in ${c.state} state`)
    const stop = new AbortController()
    c.stop = stop
    const uid = c.sandbox.config.metadata.uid
    try {
      const { ended } = await this.engine.start(c, stop.signal)
      c.state = 'RUNNING'
      c.startedAt = this.clock.now()
      const killed = new Promise<Exit>((resolve) => {
        c.kill = () => resolve({ code: 137, reason: 'Error' })
      })
      c.ended = Promise.race([ended, killed])
        .catch((error: unknown): Exit => ({ code: 1, reason: 'Error', message: error instanceof Error ? error.message : String(error) }))
        .then((exit) => this.finish(c, exit))
      this.emit({ type: 'STARTED', containerId: id, podUid: uid })
    } catch (error) {
      c.startedAt = this.clock.now()
      const text = error instanceof RuntimeError ? error.details : error instanceof Error ? error.message : String(error)
      this.finish(c, { code: 128, reason: 'StartError', message: text })
      throw error
    }
  }

  private finish(c: ContainerRecord, exit: Exit): void {
    c.exit = { ...exit, reason: exit.reason ?? (exit.code === 0 ? 'Completed' : 'Error') }
    c.state = 'EXITED'
    c.finishedAt = this.clock.now()
    delete c.stop
    delete c.kill
    c.log.end()
    this.emit({ type: 'STOPPED', containerId: c.id, podUid: c.sandbox.config.metadata.uid })
  }

  async stopContainer(id: string, timeoutSeconds: number): Promise<void> {
    const c = this.containers.get(id)
    if (!c) return
    if (c.state === 'CREATED') return this.finish(c, { code: 137 })
    if (c.state !== 'RUNNING' || !c.ended) return
    c.stop?.abort(new Error('container is stopped'))
    const wait = Math.min(timeoutSeconds, this.engine.maxStopSeconds ?? Number.POSITIVE_INFINITY)
    if (wait <= 0) c.kill?.()
    else {
      const timer = this.clock.setTimeout(() => c.kill?.(), wait * 1000)
      await c.ended
      timer.cancel()
    }
    await c.ended
  }

  async removeContainer(id: string): Promise<void> {
    const c = this.containers.get(id)
    if (!c) return
    if (c.state === 'RUNNING' || c.state === 'CREATED') await this.stopContainer(id, 0)
    this.containers.delete(id)
    this.byPod.get(c.sandbox.id)?.delete(id)
    this.emit({ type: 'DELETED', containerId: id, podUid: c.sandbox.config.metadata.uid })
  }

  async listContainers(filter: ContainerFilter = {}): Promise<Container[]> {
    const out: Container[] = []
    for (const c of this.containers.values()) {
      if (filter.id !== undefined && c.id !== filter.id) continue
      if (filter.podSandboxId !== undefined && c.sandbox.id !== filter.podSandboxId) continue
      if (filter.state && c.state !== filter.state) continue
      if (!matches(c.config.labels, filter.labelSelector)) continue
      out.push({
        id: c.id,
        podSandboxId: c.sandbox.id,
        metadata: c.config.metadata,
        image: c.config.image,
        imageRef: c.image.ref,
        imageId: c.image.id,
        state: c.state,
        createdAt: c.createdAt,
        labels: c.config.labels,
        annotations: c.config.annotations,
      })
    }
    return out
  }

  async containerStatus(id: string): Promise<ContainerStatus> {
    const c = this.container(id)
    const sc = c.config.linux.securityContext
    const uid = sc.runAsUser ?? 0
    const gid = sc.runAsGroup ?? 0
    return {
      id,
      metadata: c.config.metadata,
      state: c.state,
      createdAt: c.createdAt,
      startedAt: c.startedAt,
      finishedAt: c.finishedAt,
      exitCode: c.state === 'EXITED' ? c.exit.code : 0,
      image: { image: c.image.name },
      imageRef: c.image.ref,
      imageId: c.image.id,
      reason: c.state === 'EXITED' ? (c.exit.reason ?? '') : '',
      message: c.state === 'EXITED' ? (c.exit.message ?? '') : '',
      labels: c.config.labels,
      annotations: c.config.annotations,
      mounts: c.config.mounts,
      logPath: `${c.sandbox.config.logDirectory}/${c.config.logPath}`,
      resources: c.resources,
      user: { uid, gid, supplementalGroups: [...new Set([gid, ...sc.supplementalGroups])] },
    }
  }

  async updateContainerResources(id: string, resources: LinuxContainerResources): Promise<void> {
    const c = this.container(id)
    c.resources = { ...c.resources, ...resources }
  }

  async reopenContainerLog(): Promise<void> {}

  execSync(id: string, command: readonly string[]): Promise<ExecSyncResult> {
    return this.engine.exec(this.running(id), command)
  }

  async containerStats(id: string): Promise<ContainerStats> {
    return this.statsOf(this.running(id))
  }

  async listContainerStats(filter: ContainerFilter = {}): Promise<ContainerStats[]> {
    const wanted = await this.listContainers({ ...filter, state: 'RUNNING' })
    return wanted.map((c) => this.statsOf(this.container(c.id)))
  }

  private statsOf(c: ContainerRecord): ContainerStats {
    const now = this.clock.now()
    const use = this.engine.stats?.(c) ?? { cpuNanoCores: 0, memoryBytes: 0 }
    return {
      id: c.id,
      metadata: c.config.metadata,
      labels: c.config.labels,
      annotations: c.config.annotations,
      cpu: { timestamp: now, usageNanoCores: use.cpuNanoCores, usageCoreNanoSeconds: Math.round((use.cpuNanoCores * (now - c.startedAt)) / 1000) },
      memory: { timestamp: now, workingSetBytes: use.memoryBytes, usageBytes: use.memoryBytes, rssBytes: use.memoryBytes },
    }
  }

  events(onEvent: (event: RuntimeEvent) => void, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    this.listeners.add(onEvent)
    return new Promise((resolve) => {
      signal.addEventListener(
        'abort',
        () => {
          this.listeners.delete(onEvent)
          resolve()
        },
        { once: true },
      )
    })
  }

  /** The containers of one Pod, for callers inside this process. */
  podContainers(podUid: string): ContainerRecord[] {
    return [...this.containers.values()].filter((c) => c.config.labels[runtimeLabels.podUid] === podUid)
  }

  private of(sandboxId: string): ContainerRecord[] {
    return [...(this.byPod.get(sandboxId) ?? [])].map((id) => this.containers.get(id)).filter((c) => c !== undefined)
  }

  private container(id: string): ContainerRecord {
    const c = this.containers.get(id)
    if (!c) throw new RuntimeError('NotFound', `an error occurred when try to find container "${id}": not found`)
    return c
  }

  private running(id: string): ContainerRecord {
    const c = this.container(id)
    if (c.state !== 'RUNNING') throw new RuntimeError('Unknown', `container is in CONTAINER_${c.state} state`)
    return c
  }

  private emit(event: RuntimeEvent): void {
    for (const listener of [...this.listeners]) listener(event)
  }

  private id(): string {
    return Buffer.from(this.random.bytes(32)).toString('hex')
  }
}

function sandboxOf(s: SandboxRecord): PodSandbox {
  return {
    id: s.id,
    metadata: s.config.metadata,
    state: s.state,
    createdAt: s.createdAt,
    labels: s.config.labels,
    annotations: s.config.annotations,
    runtimeHandler: s.runtimeHandler,
  }
}
