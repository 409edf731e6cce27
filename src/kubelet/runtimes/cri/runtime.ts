import { type ContainerRuntime, isRuntimeNotFound, RuntimeError, type RuntimeEvent } from '../../runtime/runtime.ts'
import { type CriClient, connectCri } from './client.ts'
import * as from from './from-wire.ts'
import type { Message } from './message-codec.ts'
import { containerdEvents } from './native-events.ts'
import * as to from './to-wire.ts'

const STOP_MARGIN_MS = 30_000
const PULL_TIMEOUT_MS = 30 * 60_000

export type CriRuntime = ContainerRuntime & { close(): void }

/**
 * Real containers through a CRI v1 endpoint (containerd, CRI-O).
 * @param endpoint `unix:///path/of/socket`
 * @throws RuntimeError when nobody answers there
 */
export async function createCriRuntime(endpoint: string): Promise<CriRuntime> {
  const client = await connectCri(endpoint)
  const version = await client.call('RuntimeService', 'Version', { version: 'v1' }, { timeoutMs: 5000 })
  return criRuntime(client, version.runtime_name as string)
}

function criRuntime(client: CriClient, name: string): CriRuntime {
  const runtime = (method: string, request: Message, options?: { timeoutMs?: number; signal?: AbortSignal }) =>
    client.call('RuntimeService', method, request, options)
  const images = (method: string, request: Message, options?: { timeoutMs?: number; signal?: AbortSignal }) =>
    client.call('ImageService', method, request, options)
  const ignoringNotFound = async (call: Promise<unknown>): Promise<void> => {
    await call.catch((e) => {
      if (!isRuntimeNotFound(e)) throw e
    })
  }
  return {
    name,
    async version() {
      const v = await runtime('Version', { version: 'v1' })
      return { runtimeName: v.runtime_name as string, runtimeVersion: v.runtime_version as string, runtimeApiVersion: v.runtime_api_version as string }
    },
    async status() {
      const s = await runtime('Status', {})
      const conditions = ((s.status as Message | undefined)?.conditions ?? []) as Message[]
      const features = s.features as Message | undefined
      return {
        conditions: conditions.map((c) => ({ type: c.type as string, status: c.status === true, reason: c.reason as string, message: c.message as string })),
        runtimeHandlers: (s.runtime_handlers as Message[]).map((h) => {
          const f = h.features as Message | undefined
          return {
            name: h.name as string,
            ...(f ? { features: { recursiveReadOnlyMounts: f.recursive_read_only_mounts === true, userNamespaces: f.user_namespaces === true } } : {}),
          }
        }),
        ...(features
          ? {
              features: {
                supplementalGroupsPolicy: features.supplemental_groups_policy === true,
                userNamespacesHostNetwork: features.user_namespaces_host_network === true,
              },
            }
          : {}),
      }
    },
    async runPodSandbox(config, runtimeHandler, signal) {
      const r = await runtime(
        'RunPodSandbox',
        { config: to.sandboxConfig(config), runtime_handler: runtimeHandler },
        { timeoutMs: 4 * 60_000, ...(signal ? { signal } : {}) },
      )
      return r.pod_sandbox_id as string
    },
    stopPodSandbox: (id) => ignoringNotFound(runtime('StopPodSandbox', { pod_sandbox_id: id })),
    removePodSandbox: (id) => ignoringNotFound(runtime('RemovePodSandbox', { pod_sandbox_id: id })),
    async podSandboxStatus(id) {
      const r = await runtime('PodSandboxStatus', { pod_sandbox_id: id })
      return from.sandboxStatus(r.status as Message)
    },
    async listPodSandboxes(filter) {
      const r = await runtime('ListPodSandbox', { filter: to.sandboxFilter(filter) })
      return (r.items as Message[]).map(from.sandbox)
    },
    async createContainer(sandboxId, config, sandboxConfig) {
      const r = await runtime('CreateContainer', {
        pod_sandbox_id: sandboxId,
        config: to.containerConfig(config),
        sandbox_config: to.sandboxConfig(sandboxConfig),
      })
      return r.container_id as string
    },
    async startContainer(id) {
      await runtime('StartContainer', { container_id: id })
    },
    stopContainer: (id, timeoutSeconds) =>
      ignoringNotFound(runtime('StopContainer', { container_id: id, timeout: timeoutSeconds }, { timeoutMs: timeoutSeconds * 1000 + STOP_MARGIN_MS })),
    removeContainer: (id) => ignoringNotFound(runtime('RemoveContainer', { container_id: id })),
    async listContainers(filter) {
      const r = await runtime('ListContainers', { filter: to.containerFilter(filter) })
      return (r.containers as Message[]).map(from.container)
    },
    async containerStatus(id) {
      const r = await runtime('ContainerStatus', { container_id: id })
      return from.containerStatus(r.status as Message)
    },
    async updateContainerResources(id, resources) {
      await runtime('UpdateContainerResources', { container_id: id, linux: to.resources(resources) })
    },
    async reopenContainerLog(id) {
      await runtime('ReopenContainerLog', { container_id: id })
    },
    async execSync(id, command, timeoutSeconds) {
      const options = timeoutSeconds > 0 ? { timeoutMs: timeoutSeconds * 1000 + STOP_MARGIN_MS } : { timeoutMs: 60 * 60_000 }
      const r = await runtime('ExecSync', { container_id: id, cmd: [...command], timeout: timeoutSeconds }, options)
      return { stdout: r.stdout as Uint8Array, stderr: r.stderr as Uint8Array, exitCode: r.exit_code as number }
    },
    streaming: {
      kind: 'url',
      async exec(q) {
        return (await runtime('Exec', { container_id: q.containerId, cmd: [...q.cmd], tty: q.tty, stdin: q.stdin, stdout: q.stdout, stderr: q.stderr }))
          .url as string
      },
      async attach(q) {
        return (await runtime('Attach', { container_id: q.containerId, tty: q.tty, stdin: q.stdin, stdout: q.stdout, stderr: q.stderr })).url as string
      },
      async portForward(q) {
        return (await runtime('PortForward', { pod_sandbox_id: q.podSandboxId, port: [...q.ports] })).url as string
      },
    },
    async containerStats(id) {
      return from.containerStats((await runtime('ContainerStats', { container_id: id })).stats as Message)
    },
    async listContainerStats(filter) {
      const r = await runtime('ListContainerStats', {
        filter: filter && { id: filter.id, pod_sandbox_id: filter.podSandboxId, label_selector: filter.labelSelector ?? {} },
      })
      return (r.stats as Message[]).map(from.containerStats)
    },
    async events(onEvent, signal) {
      try {
        await criEvents(client, onEvent, signal)
      } catch (e) {
        if (!(e instanceof RuntimeError) || e.code !== 'Unimplemented') throw e
        await containerdEvents(client, onEvent, signal)
      }
    },
    images: {
      async pullImage(image, auth, sandboxConfig, signal) {
        const request = {
          image: to.imageSpec(image),
          auth: auth && {
            username: auth.username,
            password: auth.password,
            auth: auth.auth,
            server_address: auth.serverAddress,
            identity_token: auth.identityToken,
            registry_token: auth.registryToken,
          },
          sandbox_config: sandboxConfig && to.sandboxConfig(sandboxConfig),
        }
        return (await images('PullImage', request, { timeoutMs: PULL_TIMEOUT_MS, ...(signal ? { signal } : {}) })).image_ref as string
      },
      async imageStatus(image) {
        const r = await images('ImageStatus', { image: to.imageSpec(image) })
        return r.image ? from.image(r.image as Message) : undefined
      },
      async listImages() {
        return ((await images('ListImages', {})).images as Message[]).map(from.image)
      },
      async removeImage(image) {
        await images('RemoveImage', { image: to.imageSpec(image) })
      },
      async imageFsInfo() {
        const r = await images('ImageFsInfo', {})
        return {
          imageFilesystems: (r.image_filesystems as Message[]).map(from.filesystem),
          containerFilesystems: (r.container_filesystems as Message[]).map(from.filesystem),
        }
      },
    },
    async updateRuntimeConfig(podCIDR) {
      await runtime('UpdateRuntimeConfig', { runtime_config: { network_config: { pod_cidr: podCIDR } } })
    },
    async cgroupDriver() {
      try {
        const driver = ((await runtime('RuntimeConfig', {})).linux as Message | undefined)?.cgroup_driver
        return driver === 'SYSTEMD' ? 'systemd' : 'cgroupfs'
      } catch (e) {
        if (e instanceof RuntimeError && e.code === 'Unimplemented') return undefined
        throw e
      }
    },
    close: () => client.close(),
  }
}

const TYPES: Record<string, RuntimeEvent['type']> = {
  CONTAINER_CREATED_EVENT: 'CREATED',
  CONTAINER_STARTED_EVENT: 'STARTED',
  CONTAINER_STOPPED_EVENT: 'STOPPED',
  CONTAINER_DELETED_EVENT: 'DELETED',
}

/** GetContainerEvents, where the runtime has it. */
function criEvents(client: CriClient, onEvent: (event: RuntimeEvent) => void, signal: AbortSignal): Promise<void> {
  return client.stream(
    'runtime.v1.RuntimeService',
    'GetContainerEvents',
    {
      encode: () => new Uint8Array(0),
      decode(bytes) {
        const m = client.codec.decode('ContainerEventResponse', bytes)
        const status = m.pod_sandbox_status as Message | undefined
        const podUid = (status?.metadata as Message | undefined)?.uid as string | undefined
        onEvent({ type: TYPES[m.container_event_type as string] ?? 'STOPPED', containerId: m.container_id as string, ...(podUid ? { podUid } : {}) })
      },
    },
    signal,
  )
}
