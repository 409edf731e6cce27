import http from 'node:http'
import https from 'node:https'
import { type Duplex, Readable } from 'node:stream'
import type { Node, Pod } from '../../../api/core/v1/types.generated.ts'
import { resources } from '../../../api/index.ts'
import { newBadRequest, newInternalError, newInvalid, StatusError } from '../../../apimachinery/errors.ts'
import { type FieldError, FieldPath, forbidden, invalid } from '../../../apimachinery/field.ts'
import type { ConnectCall, ConnectHandler } from '../../../apiserver/endpoints/endpoint.ts'
import type { ApiResponse } from '../../../apiserver/request/api-request.ts'
import type { Client } from '../../../client/client.ts'

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

async function reach(o: PodConnectOptions, nodeName: string): Promise<NodeConnection> {
  return o.connect(await o.client.resource(resources.corev1.nodes).get(nodeName))
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
  const connection = await reach(o, pod.spec.nodeName)
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
  const connection = await reach(o, pod.spec.nodeName)
  if (!request.upgrade) throw newBadRequest('Upgrade request required')
  const base = kind === 'portforward' ? 'portForward' : kind
  const path = `/${base}/${encodeURIComponent(call.namespace)}/${encodeURIComponent(call.name)}${tail}?${out}`
  return hijack(connection, call, path)
}

async function nodeProxy(o: PodConnectOptions, call: ConnectCall): Promise<ApiResponse> {
  const { request } = call.context
  if (call.path === '' && (request.method === 'GET' || request.method === 'HEAD')) {
    return { status: 301, headers: { location: `${request.path}/${request.query ? `?${request.query}` : ''}` } }
  }
  const [bare = ''] = call.name.replace(/^https?:/, '').split(':')
  const connection = await reach(o, bare)
  const path = `${call.path || '/'}${request.query ? `?${request.query}` : ''}`
  if (request.upgrade) return hijack(connection, call, path)
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

/** Hands the client's connection on: whatever the kubelet answers to the upgrade, the client sees. */
async function hijack(c: NodeConnection, call: ConnectCall, path: string): Promise<ApiResponse> {
  const { request } = call.context
  const upgrade = request.upgrade
  if (!upgrade) throw newBadRequest('Upgrade request required')
  const headers = { ...passedOn(request.headers), connection: 'Upgrade', upgrade: request.headers['upgrade'] ?? '' }
  const { socket, head } = upgrade
  if (c.kind === 'in-process') {
    void c.upgrade({ method: request.method, path, headers, signal: closing(call) }, socket, head).catch(() => socket.destroy())
    return { status: 101, headers: {}, hijacked: true }
  }
  return new Promise((resolve, reject) => {
    const out = https.request({ ...tls(c), method: request.method, path, headers })
    out.on('error', (error) => reject(newInternalError(new Error(`error dialing backend: ${error.message}`))))
    out.on('upgrade', (answer, backend, first) => {
      socket.write(`HTTP/1.1 101 ${http.STATUS_CODES[101]}\r\n${rawHeaders(answer.rawHeaders)}\r\n`)
      if (first.length) socket.write(first)
      if (head.length) backend.write(head)
      const end = () => {
        backend.destroy()
        socket.destroy()
      }
      for (const s of [socket, backend]) s.on('error', end).on('close', end)
      socket.pipe(backend)
      backend.pipe(socket)
      resolve({ status: 101, headers: {}, hijacked: true })
    })
    out.on('response', (answer) => {
      void collect(answer).then(
        (text) =>
          resolve({ status: answer.statusCode ?? 502, headers: { 'content-type': answer.headers['content-type'] ?? 'text/plain' }, bytes: Buffer.from(text) }),
        reject,
      )
    })
    out.end()
  })
}

function rawHeaders(list: readonly string[]): string {
  let out = ''
  for (let i = 0; i + 1 < list.length; i += 2) if (!/^access-control-allow-/i.test(list[i] as string)) out += `${list[i]}: ${list[i + 1]}\r\n`
  return out
}

const MAX_ERROR = 64 * 1024

async function collect(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream) {
    text += Buffer.from(chunk as Uint8Array).toString('utf8')
    if (text.length > MAX_ERROR) break
  }
  return text
}
