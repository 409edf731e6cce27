import {
  type ContainerConfig,
  type ContainerFilter,
  type ContainerRuntime,
  type ImageService,
  type ImageSpec,
  type PodSandboxConfig,
  type PodSandboxFilter,
  RuntimeError,
  type RuntimeEvent,
  type StreamingRuntime,
} from '../runtime/runtime.ts'

/** The runtime handler under which a Pod is run by the builtin runtime. No RuntimeClass may name it. */
export const BUILTIN_HANDLER = 'k8ts-builtin'

/** One runtime out of two: Pods with the builtin handler go to `builtin`, all others to `main`. */
export class CompositeRuntime implements ContainerRuntime {
  readonly name: string
  readonly images: ImageService
  readonly streaming: StreamingRuntime
  readonly eventsReliable: boolean
  private readonly main: ContainerRuntime
  private readonly builtin: ContainerRuntime
  /** Ids of the builtin runtime; all others are the main one's. */
  private readonly builtinIds = new Set<string>()

  constructor(main: ContainerRuntime, builtin: ContainerRuntime) {
    this.main = main
    this.builtin = builtin
    this.name = main.name
    this.eventsReliable = (main.eventsReliable ?? false) && (builtin.eventsReliable ?? false)
    const pick = (image: ImageSpec): ImageService => (image.runtimeHandler === BUILTIN_HANDLER ? builtin.images : main.images)
    this.images = {
      pullImage: (image, auth, sandbox, signal) => pick(image).pullImage(image, auth, sandbox, signal),
      imageStatus: (image) => pick(image).imageStatus(image),
      removeImage: (image) => pick(image).removeImage(image),
      listImages: async () => [...(await main.images.listImages()), ...(await builtin.images.listImages())],
      imageFsInfo: () => main.images.imageFsInfo(),
    }
    const refuse = async (): Promise<never> => {
      throw new RuntimeError('Internal', 'streams go to the runtime that holds the container')
    }
    this.streaming = { kind: 'direct', exec: refuse, attach: refuse, portForward: refuse }
  }

  /** The runtime that holds a container or sandbox. */
  route(id: string): ContainerRuntime {
    return this.builtinIds.has(id) ? this.builtin : this.main
  }

  forHandler(handler: string): ContainerRuntime {
    return handler === BUILTIN_HANDLER ? this.builtin : this.main
  }

  version() {
    return this.main.version()
  }
  status() {
    return this.main.status()
  }

  async runPodSandbox(config: PodSandboxConfig, runtimeHandler = '', signal?: AbortSignal): Promise<string> {
    if (runtimeHandler !== BUILTIN_HANDLER) return this.main.runPodSandbox(config, runtimeHandler, signal)
    const id = await this.builtin.runPodSandbox(config, runtimeHandler, signal)
    this.builtinIds.add(id)
    return id
  }
  stopPodSandbox(id: string) {
    return this.route(id).stopPodSandbox(id)
  }
  async removePodSandbox(id: string) {
    await this.route(id).removePodSandbox(id)
    this.builtinIds.delete(id)
  }
  podSandboxStatus(id: string) {
    return this.route(id).podSandboxStatus(id)
  }
  async listPodSandboxes(filter?: PodSandboxFilter) {
    const [a, b] = await Promise.all([this.main.listPodSandboxes(filter), this.builtin.listPodSandboxes(filter)])
    for (const s of b) this.builtinIds.add(s.id)
    return [...a, ...b]
  }
  async createContainer(sandboxId: string, config: ContainerConfig, sandboxConfig: PodSandboxConfig): Promise<string> {
    const runtime = this.route(sandboxId)
    const id = await runtime.createContainer(sandboxId, config, sandboxConfig)
    if (runtime === this.builtin) this.builtinIds.add(id)
    return id
  }
  startContainer(id: string) {
    return this.route(id).startContainer(id)
  }
  stopContainer(id: string, timeoutSeconds: number) {
    return this.route(id).stopContainer(id, timeoutSeconds)
  }
  async removeContainer(id: string) {
    await this.route(id).removeContainer(id)
    this.builtinIds.delete(id)
  }
  async listContainers(filter?: ContainerFilter) {
    const [a, b] = await Promise.all([this.main.listContainers(filter), this.builtin.listContainers(filter)])
    for (const c of b) this.builtinIds.add(c.id)
    return [...a, ...b]
  }
  containerStatus(id: string) {
    return this.route(id).containerStatus(id)
  }
  updateContainerResources(...args: Parameters<ContainerRuntime['updateContainerResources']>) {
    return this.route(args[0]).updateContainerResources(...args)
  }
  reopenContainerLog(id: string) {
    return this.route(id).reopenContainerLog(id)
  }
  execSync(...args: Parameters<ContainerRuntime['execSync']>) {
    return this.route(args[0]).execSync(...args)
  }
  containerStats(id: string) {
    return this.route(id).containerStats(id)
  }
  async listContainerStats(filter?: ContainerFilter) {
    const [a, b] = await Promise.all([this.main.listContainerStats(filter), this.builtin.listContainerStats(filter)])
    return [...a, ...b]
  }

  async events(onEvent: (event: RuntimeEvent) => void, signal: AbortSignal): Promise<void> {
    // The stream as a whole ends when either ends: the caller reconnects both.
    const both = new AbortController()
    const stop = () => both.abort(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    try {
      await Promise.race([this.main.events(onEvent, both.signal), this.builtin.events(onEvent, both.signal)])
    } finally {
      both.abort(new Error('event stream ended'))
      signal.removeEventListener('abort', stop)
    }
  }

  async updateRuntimeConfig(podCIDR: string): Promise<void> {
    await this.main.updateRuntimeConfig?.(podCIDR)
  }
  async cgroupDriver() {
    return this.main.cgroupDriver?.()
  }
}
