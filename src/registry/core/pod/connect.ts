import http from 'node:http'
import https from 'node:https'
import { type Duplex, Readable } from 'node:stream'
import type { Node, Pod } from '../../../api/core/v1/types.generated.ts'
import { resources } from '../../../api/index.ts'
import { newBadRequest, newInternalError, newInvalid, StatusError, toStatusError } from '../../../apimachinery/errors.ts'
import { type FieldError, FieldPath, forbidden, invalid } from '../../../apimachinery/field.ts'
import type { ConnectCall, ConnectHandler } from '../../../apiserver/endpoints/endpoint.ts'
import type { ApiResponse } from '../../../apiserver/request/api-request.ts'
import type { Clock } from '../../../base/index.ts'
import type { Client } from '../../../client/client.ts'
import {
  acceptWebSocket,
  chooseProtocol,
  dialUpgrade,
  isWebSocketUpgrade,
  joinDuplexes,
  offeredProtocols,
  REMOTE_COMMAND_WEBSOCKET,
  type RemoteCommandStreams,
  translateToSpdy,
  type UpgradeRefusal,
  V5,
  webSocketDuplex,
} from '../../../component-base/streaming/index.ts'

/** The kubelet of a node: in this process, or behind its port. */
export type NodeConnection =
  | {
      kind: 'in-process'
      handle(request: NodeRequest): Promise<{ status: number; headers: Record<string, string>; body: string | Uint8Array | AsyncIterable<Uint8Array> }>
      upgrade(request: NodeRequest, socket: Duplex, head: Uint8Array): Promise<void>
    }
  | { kind: 'https'; host: string; port: number; ca?: string; certificate?: string; key?: string }

export interface NodeRequest {
  method: string
  path: string
  headers: Record<string, string | undefined>
  signal: AbortSignal
}

export interface PodConnectOptions {
  clock: Clock
  /** May read Pods and Nodes. */
  client: Client
  /** How the kubelet of a node is reached; throws when it is not. */
  connect(node: Node): Promise<NodeConnection>
}

type Streamed = 'exec' | 'attach' | 'portforward'

/** `pods/log`, `pods/exec`, `pods/attach`, `pods/portforward` and `nodes/proxy`: by their names, for the API server. */
export function nodeConnectHandlers(options: PodConnectOptions): Record<string, ConnectHandler> {
  return {
    'pods/log': { connect: (call) => log(options, call) },
    'pods/exec': { connect: (call) => stream(options, call, 'exec') },
    'pods/attach': { connect: (call) => stream(options, call, 'attach') },
    'pods/portforward': { connect: (call) => stream(options, call, 'portforward') },
    'nodes/proxy': { connect: (call) => nodeProxy(options, call) },
  }
}

function chooseContainer(pod: Pod, wanted: string): string {
  const name = pod.metadata.name ?? ''
  const regular = pod.spec.containers.map((c) => c.name)
  const all = [...(pod.spec.initContainers ?? []).map((c) => c.name), ...regular, ...(pod.spec.ephemeralContainers ?? []).map((c) => c.name)]
  if (wanted === '') {
    if (regular.length === 1) return regular[0] as string
    throw newBadRequest(
      regular.length === 0
        ? `a container name must be specified for pod ${name}`
        : `a container name must be specified for pod ${name}, choose one of: [${all.join(' ')}]`,
    )
  }
  if (!all.includes(wanted)) throw newBadRequest(`container ${wanted} is not valid for pod ${name}`)
  return wanted
}

async function reach(o: PodConnectOptions, nodeName: string): Promise<{ connection: NodeConnection; node: Node }> {
  const node = await o.client.resource(resources.corev1.nodes).get(nodeName)
  try {
    return { connection: await o.connect(node), node }
  } catch (error) {
    // Not to reach a kubelet is no failure of this server.
    throw toStatusError(error)
  }
}

function logQuery(query: URLSearchParams, name: string): URLSearchParams {
  const errors: FieldError[] = []
  const integer = (field: string, least: number): void => {
    const text = query.get(field)
    if (text === null || text === '') return
    if (!/^[+-]?\d{1,18}$/.test(text)) throw newBadRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
    const value = Number(text)
    if (value < least) errors.push(invalid(FieldPath.root(field), value, least === 0 ? 'must be greater than or equal to 0' : 'must be greater than 0'))
  }
  integer('tailLines', 0)
  integer('limitBytes', 1)
  if (query.get('sinceSeconds') && query.get('sinceTime'))
    errors.push(forbidden(FieldPath.root(), 'at most one of `sinceTime` or `sinceSeconds` may be specified'))
  else integer('sinceSeconds', 1)
  const selected = query.get('stream')
  if (selected && selected !== 'All') errors.push(forbidden(FieldPath.root('stream'), 'may not be specified'))
  if (errors.length > 0) throw newInvalid({ group: '', kind: 'PodLogOptions' }, name, errors)
  const out = new URLSearchParams()
  for (const key of ['follow', 'previous', 'timestamps']) {
    const value = query.get(key)
    if (value !== null && value !== '0' && value !== 'false') out.set(key, 'true')
  }
  for (const key of ['sinceSeconds', 'sinceTime', 'tailLines', 'limitBytes']) {
    const value = query.get(key)
    if (value) out.set(key, value)
  }
  return out
}

async function log(o: PodConnectOptions, call: ConnectCall): Promise<ApiResponse> {
  const query = new URLSearchParams(call.context.request.query)
  const pod = await o.client.resource(resources.corev1.pods).namespace(call.namespace).get(call.name)
  const options = logQuery(query, call.name)
  const container = chooseContainer(pod, query.get('container') ?? '')
  if (!pod.spec.nodeName) return { status: 204, headers: {} }
  const { connection } = await reach(o, pod.spec.nodeName)
  const path = `/containerLogs/${encodeURIComponent(call.namespace)}/${encodeURIComponent(call.name)}/${encodeURIComponent(container)}?${options}`
  const answer = await send(connection, call, { method: 'GET', path, headers: {} })
  if (answer.status < 200 || answer.status > 206) {
    const text = await collect(answer.stream)
    if (answer.status === 500) throw newInternalError(new Error(text))
    if (answer.status === 400) throw newBadRequest(text)
    throw new StatusError({
      code: answer.status,
      reason: answer.status === 404 ? 'NotFound' : '',
      message: answer.status === 404 ? `the server could not find the requested resource ( pods/log ${call.name})` : text,
      details: { name: call.name, kind: 'pods/log' },
    })
  }
  return { status: 200, headers: { 'content-type': 'text/plain' }, stream: answer.stream }
}

async function stream(o: PodConnectOptions, call: ConnectCall, kind: Streamed): Promise<ApiResponse> {
  const { request } = call.context
  const query = new URLSearchParams(request.query)
  const pod = await o.client.resource(resources.corev1.pods).namespace(call.namespace).get(call.name)
  const out = new URLSearchParams()
  let tail = ''
  if (kind !== 'portforward') {
    tail = `/${encodeURIComponent(chooseContainer(pod, query.get('container') ?? ''))}`
    for (const [name, to] of [
      ['stdin', 'input'],
      ['stdout', 'output'],
      ['stderr', 'error'],
      ['tty', 'tty'],
    ] as const) {
      const value = query.get(name)
      if (value !== null && value !== '0' && value !== 'false' && value !== '') out.set(to, '1')
    }
    if (kind === 'exec') for (const c of query.getAll('command')) out.append('command', c)
  } else for (const p of query.getAll('ports')) out.append('port', p)
  if (!pod.spec.nodeName) throw newBadRequest(`pod ${call.name} does not have a host assigned`)
  const { connection, node } = await reach(o, pod.spec.nodeName)
  if (!request.upgrade) throw newBadRequest('Upgrade request required')
  const base = kind === 'portforward' ? 'portForward' : kind
  const path = `/${base}/${encodeURIComponent(call.namespace)}/${encodeURIComponent(call.name)}${tail}?${out}`
  const streams = { stdin: out.has('input'), stdout: out.has('output'), tty: out.has('tty'), stderr: out.has('error') && !out.has('tty') }
  // Kubelets before v1.36 speak the newest protocol over SPDY only.
  const old = !(node.status?.declaredFeatures ?? []).includes('ExtendWebSocketsToKubelet')
  return hijack(o, connection, call, path, old ? { kind, streams } : undefined)
}

async function nodeProxy(o: PodConnectOptions, call: ConnectCall): Promise<ApiResponse> {
  const { request } = call.context
  if (call.path === '' && (request.method === 'GET' || request.method === 'HEAD')) {
    return { status: 301, headers: { location: `${request.path}/${request.query ? `?${request.query}` : ''}` } }
  }
  const [bare = ''] = call.name.replace(/^https?:/, '').split(':')
  const { connection } = await reach(o, bare)
  const path = `${call.path || '/'}${request.query ? `?${request.query}` : ''}`
  if (request.upgrade) return hijack(o, connection, call, path, undefined)
  const answer = await send(connection, call, { method: request.method, path, headers: passedOn(request.headers) })
  const { connection: _c, 'transfer-encoding': _t, ...headers } = answer.headers
  return { status: answer.status, headers, stream: answer.stream }
}

/** Headers that go on to the backend: not who the caller is, nor what belongs to the connection. */
function passedOn(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const out: Record<string, string> = {}
  for (const [k, v] of Object.entries(headers)) {
    if (v === undefined || k.startsWith(':') || k.startsWith('x-remote-') || k.startsWith('impersonate-')) continue
    if (['host', 'authorization', 'connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'content-length'].includes(k)) continue
    out[k] = v
  }
  return out
}

function closing(call: ConnectCall): AbortSignal {
  const gone = new AbortController()
  call.context.request.onClose(() => gone.abort(new Error('client went away')))
  return gone.signal
}

async function send(
  c: NodeConnection,
  call: ConnectCall,
  request: Omit<NodeRequest, 'signal'>,
): Promise<{ status: number; headers: Record<string, string>; stream: Readable }> {
  const signal = closing(call)
  if (c.kind === 'in-process') {
    const answer = await c.handle({ ...request, signal })
    const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body
    return { status: answer.status, headers: answer.headers, stream: Readable.from(body instanceof Uint8Array ? [body] : body) }
  }
  return new Promise((resolve, reject) => {
    const body = call.context.request.bodyStream?.()
    const out = https.request({ ...tls(c), method: request.method, path: request.path, headers: request.headers, signal }, (answer) => {
      const headers: Record<string, string> = {}
      for (const [k, v] of Object.entries(answer.headers)) headers[k] = Array.isArray(v) ? v.join(', ') : (v ?? '')
      resolve({ status: answer.statusCode ?? 502, headers, stream: answer })
    })
    out.on('error', (error) => reject(newInternalError(new Error(`error dialing backend: ${error.message}`))))
    if (body && request.method !== 'GET' && request.method !== 'HEAD') body.pipe(out)
    else out.end()
  })
}

const tls = (c: Extract<NodeConnection, { kind: 'https' }>): https.RequestOptions => ({
  host: c.host,
  port: c.port,
  agent: false,
  ...(c.ca ? { ca: c.ca } : { rejectUnauthorized: false }),
  ...(c.certificate ? { cert: c.certificate } : {}),
  ...(c.key ? { key: c.key } : {}),
})

/**
 * Hands the client's connection on: whatever the kubelet answers to the upgrade, the client sees. The kubelet's connection is one of its own and
 * ends with the client's; after a refusal it is closed.
 * @param translate for a kubelet without WebSockets
 */
async function hijack(
  o: PodConnectOptions,
  c: NodeConnection,
  call: ConnectCall,
  path: string,
  translate: { kind: Streamed; streams: RemoteCommandStreams } | undefined,
): Promise<ApiResponse> {
  const { request } = call.context
  const upgrade = request.upgrade
  if (!upgrade) throw newBadRequest('Upgrade request required')
  const { socket, head } = upgrade
  const signal = closing(call)
  const hijacked: ApiResponse = { status: 101, headers: {}, hijacked: true }
  if (c.kind === 'in-process') {
    const headers = { ...passedOn(request.headers), connection: 'Upgrade', upgrade: request.headers.upgrade ?? '' }
    void c.upgrade({ method: request.method, path, headers, signal }, socket, head).catch(() => socket.destroy())
    return hijacked
  }
  const dial = (method: string, headers: Record<string, string>) =>
    dialUpgrade({ ...tls(c), secure: true, method, path, headers: { ...headers, connection: 'Upgrade' }, signal }).catch((error: Error) => {
      throw newInternalError(new Error(`error dialing backend: ${error.message}`))
    })
  const spdy = (protocol: string) => dial('POST', { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocol, 'content-length': '0' })
  const offered = translate && isWebSocketUpgrade(request.headers) ? offeredProtocols(request.headers) : []
  if (translate && translate.kind !== 'portforward' && chooseProtocol(request.headers, REMOTE_COMMAND_WEBSOCKET) === V5 && offered.length > 0) {
    const result = await spdy('v4.channel.k8s.io')
    if (result.kind === 'refused') return refused(result.refusal)
    void translateToSpdy({ socket, head, headers: request.headers, streams: translate.streams, result }).catch(() => socket.destroy())
    return hijacked
  }
  const tunnel = translate?.kind === 'portforward' && offered.includes(TUNNEL)
  const result = tunnel
    ? await spdy('portforward.k8s.io')
    : await dial(request.method, { ...passedOn(request.headers), upgrade: request.headers.upgrade ?? '' })
  if (result.kind === 'refused') return refused(result.refusal)
  if (socket.destroyed) {
    result.socket.destroy()
    return hijacked
  }
  if (tunnel) {
    void acceptWebSocket(socket, head, request.headers, TUNNEL)
      .then(webSocketDuplex)
      .then((client) => {
        if (result.head.length) client.write(result.head)
        return joinDuplexes(client, result.socket, o.clock)
      })
      .catch(() => result.socket.destroy())
    return hijacked
  }
  socket.write(`HTTP/1.1 101 ${http.STATUS_CODES[101]}\r\n${rawHeaders(result.rawHeaders)}\r\n`)
  if (result.head.length) socket.write(result.head)
  if (head.length) result.socket.write(head)
  void joinDuplexes(socket, result.socket, o.clock)
  return hijacked
}

/** What the client sees of a kubelet that did not switch protocols. Never a redirect: it would be followed with the client's credentials. */
function refused(refusal: UpgradeRefusal): ApiResponse {
  if (refusal.status < 400) throw newInternalError(new Error(`invalid upgrade response: status code ${refusal.status}`))
  return { status: refusal.status, headers: { 'content-type': refusal.headers['content-type'] ?? 'text/plain' }, bytes: refusal.body }
}

function rawHeaders(list: readonly string[]): string {
  let out = ''
  for (let i = 0; i + 1 < list.length; i += 2) if (!/^access-control-allow-/i.test(list[i] as string)) out += `${list[i]}: ${list[i + 1]}\r\n`
  return out
}

const TUNNEL = 'SPDY/3.1+portforward.k8s.io'
const MAX_ERROR = 64 * 1024

async function collect(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream) {
    text += Buffer.from(chunk as Uint8Array).toString('utf8')
    if (text.length > MAX_ERROR) break
  }
  return text
}
