import { promises as fs } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Duplex } from 'node:stream'
import { refuseUpgrade } from '../../component-base/streaming/index.ts'
import type { Kubelet } from '../kubelet.ts'
import { findContainer, fullName, nameOf, namespaceOf, uidOf } from '../pods/pod.ts'
import { latestContainer } from '../runtime/pod-state.ts'
import { type ContainerRuntime, RuntimeError } from '../runtime/runtime.ts'
import { serveStreams } from '../streaming/serve.ts'
import type { StreamTarget } from '../streaming/target.ts'
import { containerLog, logOptions } from './container-logs.ts'
import { HttpError, json, type KubeletRequest, type KubeletResponse, text } from './request.ts'
import { kubeletMetrics, resourceMetrics, statsSummary } from './stats.ts'

export interface KubeletApiOptions {
  kubelet: Kubelet
  /** Served under /logs. @default /var/log */
  systemLogDir?: string
}

/** The subresources of `nodes` any of which lets a path be used. */
export function subresourcesFor(path: string): string[] {
  const first = path.split('/')[1] ?? ''
  switch (first) {
    case 'pods':
    case 'runningpods':
      return ['pods', 'proxy']
    case 'healthz':
      return ['healthz', 'proxy']
    case 'configz':
      return ['configz', 'proxy']
    case 'flagz':
      return ['configz']
    case 'statusz':
      return ['statusz']
    case 'stats':
      return ['stats']
    case 'metrics':
      return ['metrics']
    case 'logs':
      return ['log']
    case 'checkpoint':
      return ['checkpoint']
  }
  return ['proxy']
}

export const VERBS: Record<string, string> = { GET: 'get', HEAD: 'get', POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }

/** The kubelet's HTTP API without its port: callers have been let in already. */
export class KubeletApi {
  readonly kubelet: Kubelet
  private readonly options: KubeletApiOptions

  constructor(options: KubeletApiOptions) {
    this.options = options
    this.kubelet = options.kubelet
  }

  async handle(request: KubeletRequest): Promise<KubeletResponse> {
    try {
      return await this.route(request)
    } catch (error) {
      return failure(error)
    }
  }

  private async route(request: KubeletRequest): Promise<KubeletResponse> {
    const url = new URL(request.path, 'http://kubelet')
    const parts = url.pathname.split('/').slice(1).map(decodePart)
    const { kubelet } = this
    switch (parts[0]) {
      case 'healthz':
        return text(200, 'ok')
      case 'pods':
        return json({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items: kubelet.allPods() })
      case 'runningpods':
        return json({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items: kubelet.allPods().filter((p) => p.status.phase === 'Running') })
      case 'stats':
        if (parts[1] === 'summary' || parts[1] === '' || parts[1] === undefined)
          return json(await statsSummary(kubelet, url.searchParams.get('only_cpu_and_memory') === 'true'))
        break
      case 'metrics':
        if (parts.length === 1) return metrics(kubeletMetrics(kubelet))
        if (parts[1] === 'resource') return metrics(await resourceMetrics(kubelet))
        if (parts[1] === 'cadvisor' || parts[1] === 'probes' || parts[1] === 'slis') return metrics('')
        break
      case 'containerLogs': {
        const [, namespace, pod, container] = parts
        if (!namespace) throw new HttpError(400, '{"message": "Missing podNamespace."}')
        if (!pod) throw new HttpError(400, '{"message": "Missing podID."}')
        if (!container) throw new HttpError(400, '{"message": "Missing container name."}')
        const o = logOptions(url.searchParams, kubelet.options.clock.now())
        return { status: 200, headers: { 'content-type': 'text/plain' }, body: containerLog(kubelet, namespace, pod, container, o, request.signal) }
      }
      case 'run': {
        if (request.method !== 'POST') throw new HttpError(405, 'Method Not Allowed')
        const target = this.container(parts)
        const command = (url.searchParams.get('cmd') ?? '').split(' ')
        const result = await kubelet.runtime.execSync(target.containerId, command, 0)
        const output = Buffer.concat([result.stdout, result.stderr])
        if (result.exitCode !== 0) throw new HttpError(500, `command '${command.join(' ')}' exited with ${result.exitCode}: ${output.toString('utf8')}`)
        return { status: 200, headers: { 'content-type': 'text/plain' }, body: output }
      }
      case 'logs':
        return this.systemLog(parts.slice(1))
      case 'configz':
        return json({
          kubeletconfig: {
            kind: 'KubeletConfiguration',
            apiVersion: 'kubelet.config.k8s.io/v1beta1',
            staticPodPath: kubelet.options.staticPodPath ?? '',
            clusterDomain: kubelet.options.clusterDomain ?? 'cluster.local',
            clusterDNS: kubelet.options.clusterDNS ?? [],
            maxPods: kubelet.options.maxPods ?? 110,
          },
        })
      case 'exec':
      case 'attach':
      case 'portForward': {
        const target = await this.target(request)
        void target
        throw new HttpError(400, 'Upgrade request required')
      }
    }
    return text(404, '404 page not found\n')
  }

  /** Takes over an upgraded connection: exec, attach, port-forward. What is refused is answered on the socket. */
  async upgrade(request: KubeletRequest, socket: Duplex, head: Uint8Array): Promise<void> {
    try {
      await serveStreams({ request, socket, head, clock: this.kubelet.options.clock }, await this.target(request))
    } catch (error) {
      // Nothing was answered yet.
      const { status, body, headers } = failure(error)
      refuseUpgrade(socket, status, headers, body)
    }
  }

  /** Finds what exec, attach or port-forward is about. Throws HttpError. */
  async target(request: KubeletRequest): Promise<StreamTarget> {
    const url = new URL(request.path, 'http://kubelet')
    const parts = url.pathname.split('/').slice(1).map(decodePart)
    const kind = parts[0] as StreamTarget['kind']
    const on = (name: string) => ['1', 'true'].includes(url.searchParams.get(name) ?? '')
    const base = { command: url.searchParams.getAll('command'), stdin: on('input'), stdout: on('output'), tty: on('tty'), stderr: on('error') && !on('tty') }
    if (kind === 'portForward') {
      const [, namespace = '', name = '', uid] = parts
      const pod = this.kubelet.findPod(namespace, name, uid)
      if (!pod) throw new HttpError(404, 'pod does not exist')
      const sandbox = this.kubelet.stateOf(uidOf(pod))?.sandboxes.find((s) => s.state === 'READY')
      if (!sandbox) throw new HttpError(500, `pod not found (${JSON.stringify(fullName(pod))})`)
      const ports = url.searchParams
        .getAll('port')
        .flatMap((p) => p.split(','))
        .map(Number)
      return { kind, ...base, runtime: this.owner(sandbox.id), containerId: '', sandboxId: sandbox.id, ports }
    }
    if (!base.stdin && !base.stdout && !base.stderr) throw new HttpError(400, 'you must specify at least 1 of stdin, stdout, stderr')
    const { containerId, sandboxId } = this.container(parts)
    return { kind, ...base, runtime: this.owner(containerId), containerId, sandboxId, ports: [] }
  }

  private owner(id: string): ContainerRuntime {
    return this.kubelet.runtime.route?.(id) ?? this.kubelet.runtime
  }

  private container(parts: readonly string[]): { containerId: string; sandboxId: string } {
    const [kind, namespace = '', name = ''] = parts
    const uid = parts.length > 4 ? parts[3] : undefined
    const container = parts[parts.length > 4 ? 4 : 3] ?? ''
    const pod = this.kubelet.findPod(namespace, name, uid)
    if (!pod) throw new HttpError(404, 'pod does not exist')
    const state = this.kubelet.stateOf(uidOf(pod))
    const found = state && findContainer(pod, container) ? latestContainer(state, container) : undefined
    if (found?.state !== 'RUNNING') {
      throw new HttpError(
        500,
        kind === 'attach' ? `container ${container} not found in pod ${nameOf(pod)}_${namespaceOf(pod)}` : `container not found (${JSON.stringify(container)})`,
      )
    }
    return { containerId: found.id, sandboxId: state?.sandboxes[0]?.id ?? '' }
  }

  private async systemLog(parts: readonly string[]): Promise<KubeletResponse> {
    const root = resolve(this.options.systemLogDir ?? '/var/log')
    const path = resolve(join(root, ...parts))
    if (path !== root && !path.startsWith(`${root}/`)) return text(404, '404 page not found\n')
    const real = await fs.realpath(path).catch(() => undefined)
    const realRoot = await fs.realpath(root).catch(() => root)
    if (real === undefined || (real !== realRoot && !real.startsWith(`${realRoot}/`))) return text(404, '404 page not found\n')
    const stat = await fs.stat(real)
    if (stat.isDirectory()) {
      const entries = (await fs.readdir(real, { withFileTypes: true })).map((e) => `${e.name}${e.isDirectory() ? '/' : ''}`).sort()
      const escapeHtml = (s: string) => s.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&#34;')
      const list = entries.map((e) => `<a href="${escapeHtml(encodeURI(e))}">${escapeHtml(e)}</a>\n`).join('')
      return {
        status: 200,
        headers: { 'content-type': 'text/html; charset=utf-8' },
        body: `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${list}</pre>\n`,
      }
    }
    if (!stat.isFile()) return text(404, '404 page not found\n')
    const file = await fs.open(real, 'r')
    return {
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'content-length': String(stat.size) },
      body: file.createReadStream({ end: Math.max(0, stat.size - 1) }) as AsyncIterable<Uint8Array>,
    }
  }
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new HttpError(400, 'malformed path')
  }
}

const metrics = (body: string): KubeletResponse => ({ status: 200, headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }, body })

function failure(error: unknown): KubeletResponse & { body: string } {
  const message = error instanceof Error ? error.message : String(error)
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }
  if (error instanceof HttpError) return { status: error.status, headers: { ...headers, ...error.headers }, body: message }
  if (error instanceof RuntimeError) {
    if (error.code === 'NotFound') return { status: 404, headers, body: error.details }
    if (error.code === 'ResourceExhausted') return { status: 429, headers: { ...headers, 'retry-after': '60' }, body: error.details }
    return { status: 500, headers, body: error.details }
  }
  return { status: 500, headers, body: message }
}
