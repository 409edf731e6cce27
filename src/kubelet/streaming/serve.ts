import type { Duplex } from 'node:stream'
import type { Clock } from '../../base/index.ts'
import {
  acceptWebSocket,
  chooseProtocol,
  closeGently,
  dialUpgrade,
  isWebSocketUpgrade,
  joinDuplexes,
  offeredProtocols,
  REMOTE_COMMAND_SPDY,
  REMOTE_COMMAND_WEBSOCKET,
  refuseUpgrade,
  switchingProtocols,
  translateToSpdy,
  type UpgradeResult,
  V5,
  webSocketDuplex,
} from '../../component-base/streaming/index.ts'
import type { StreamingRuntime, StreamingUrls } from '../runtime/runtime.ts'
import { HttpError, type KubeletRequest } from '../server/request.ts'
import { PORT_FORWARD, PORT_FORWARD_WEBSOCKET, servePortChannels, servePortStreams, TUNNEL } from './port-forward.ts'
import { serveSpdyCommand, serveWebSocketCommand } from './remote-command.ts'
import type { StreamTarget } from './target.ts'

/** One upgraded connection of a client. */
export interface Call {
  request: KubeletRequest
  socket: Duplex
  head: Uint8Array
  clock: Clock
  /** Set once a protocol was switched to: what goes wrong from then on only ends the connection. */
  answered?: boolean
}

/** What the two ends agreed on. */
type Agreed = { over: 'spdy'; protocol: string } | { over: 'websocket'; protocol: string } | { over: 'tunnel'; protocol: string }

/**
 * Serves exec, attach or port-forward on an upgraded connection; resolves when it is over.
 * @throws HttpError or RuntimeError while nothing has been answered yet
 */
export async function serveStreams(call: Call, target: StreamTarget): Promise<void> {
  call.socket.on('error', () => {})
  const agreed = agree(call.request, target.kind)
  const { streaming } = target.runtime
  try {
    if (streaming.kind === 'direct') await serveDirect(call, target, streaming, agreed)
    else await bridge(call, target, streaming, agreed)
  } catch (error) {
    if (!call.answered) throw error
    closeGently(call.socket, call.clock)
  }
}

/** Finds the protocol. Throws HttpError with upstream's words. */
function agree(request: KubeletRequest, kind: StreamTarget['kind']): Agreed {
  const { headers } = request
  if (isWebSocketUpgrade(headers)) {
    if (kind === 'portForward' && offeredProtocols(headers).includes(TUNNEL)) return { over: 'tunnel', protocol: TUNNEL }
    const supported = kind === 'portForward' ? PORT_FORWARD_WEBSOCKET : REMOTE_COMMAND_WEBSOCKET
    const protocol = chooseProtocol(headers, supported)
    if (protocol === undefined) throw new HttpError(403, '')
    return { over: 'websocket', protocol }
  }
  if ((headers.upgrade ?? '').toLowerCase() !== 'spdy/3.1') {
    throw new HttpError(400, `unable to upgrade: missing upgrade headers in request: ${JSON.stringify(headers.upgrade ?? '')}`)
  }
  const client = (headers['x-stream-protocol-version'] ?? '')
    .split(',')
    .map((p) => p.trim())
    .filter((p) => p !== '')
  if (client.length === 0) {
    throw new HttpError(400, `unable to upgrade: header X-Stream-Protocol-Version does not exist in request with ${Object.keys(headers).length} headers`)
  }
  const server = kind === 'portForward' ? [PORT_FORWARD] : REMOTE_COMMAND_SPDY
  const protocol = client.find((p) => server.includes(p))
  if (protocol === undefined) {
    throw new HttpError(403, `unable to upgrade: unable to negotiate protocol: client supports [${client.join(' ')}], server accepts [${server.join(' ')}]`, {
      'x-accepted-stream-protocol-versions': server.join(', '),
    })
  }
  return { over: 'spdy', protocol }
}

function spdyHead(socket: Duplex, protocol: string): void {
  socket.write(switchingProtocols({ Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': protocol }))
}

/** Streams the runtime carries itself: both ends of the protocol are here. */
async function serveDirect(call: Call, target: StreamTarget, streaming: StreamingRuntime, agreed: Agreed): Promise<void> {
  const { socket, head, request, clock } = call
  call.answered = true
  const gone = new AbortController()
  const abort = () => gone.abort(new Error('client went away'))
  socket.once('close', abort)
  request.signal.addEventListener('abort', abort, { once: true })
  const forward = { streaming, sandboxId: target.sandboxId, signal: gone.signal, clock }
  try {
    if (target.kind === 'portForward') {
      if (agreed.over === 'spdy') {
        spdyHead(socket, agreed.protocol)
        await servePortStreams(socket, head, forward)
      } else if (agreed.over === 'tunnel') {
        await servePortStreams(await webSocketDuplex(await acceptWebSocket(socket, head, request.headers, TUNNEL)), new Uint8Array(0), forward)
      } else {
        await servePortChannels(await acceptWebSocket(socket, head, request.headers, agreed.protocol), agreed.protocol, target.ports, forward)
      }
      return
    }
    const command = { target, streaming, signal: gone.signal, clock, protocol: agreed.protocol }
    if (agreed.over === 'spdy') {
      spdyHead(socket, agreed.protocol)
      await serveSpdyCommand(socket, head, command)
    } else await serveWebSocketCommand(socket, head, request.headers, command)
  } finally {
    request.signal.removeEventListener('abort', abort)
    abort()
    closeGently(socket, clock)
  }
}

/** Streams behind the runtime's own server: what it speaks, too, is passed on as it is; the rest is translated to SPDY. */
async function bridge(call: Call, target: StreamTarget, streaming: StreamingUrls, agreed: Agreed): Promise<void> {
  const { request, socket, head, clock } = call
  const to = new URL(await runtimeUrl(target, streaming))
  const translated = agreed.protocol === V5 || agreed.over === 'tunnel'
  if (!translated && agreed.over === 'websocket' && target.kind === 'portForward') to.searchParams.set('port', target.ports.join(','))
  const dial = (method: string, headers: Record<string, string>): Promise<UpgradeResult> =>
    dialUpgrade({
      secure: to.protocol === 'https:',
      host: to.hostname.replace(/^\[|\]$/g, ''),
      port: Number(to.port || (to.protocol === 'https:' ? 443 : 80)),
      method,
      path: `${to.pathname}${to.search}`,
      headers: { host: to.host, ...headers },
      signal: request.signal,
    }).catch((error: Error) => {
      throw new HttpError(500, `error dialing backend: ${error.message}`)
    })
  const spdy = (protocol: string) => dial('POST', { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocol, 'content-length': '0' })
  if (agreed.protocol === V5) {
    const result = await spdy('v4.channel.k8s.io')
    call.answered = true
    await translateToSpdy({ socket, head, headers: request.headers, streams: target, result })
    return
  }
  const result = agreed.over === 'tunnel' ? await spdy(PORT_FORWARD) : await dial(request.method, upgradeHeaders(request.headers, agreed))
  call.answered = true
  if (result.kind === 'refused') {
    const { status, headers, body } = result.refusal
    // A redirect is not for the client: it would follow it with its own credentials.
    if (status < 400) refuseUpgrade(socket, 500, {}, `invalid upgrade response: status code ${status}`)
    else refuseUpgrade(socket, status, headers, body)
    return
  }
  const runtime = result.socket
  if (request.signal.aborted || socket.destroyed) {
    runtime.destroy()
    return
  }
  if (agreed.over === 'tunnel') {
    const client = await webSocketDuplex(
      await acceptWebSocket(socket, head, request.headers, TUNNEL).catch((error) => {
        runtime.destroy()
        throw error
      }),
    )
    if (result.head.length > 0) client.write(result.head)
    await joinDuplexes(client, runtime, clock)
    return
  }
  socket.write(switchingProtocols(result.headers))
  if (result.head.length > 0) socket.write(result.head)
  if (head.length > 0) runtime.write(head)
  await joinDuplexes(socket, runtime, clock)
}

async function runtimeUrl(target: StreamTarget, streaming: StreamingUrls): Promise<string> {
  const { kind, containerId, sandboxId, command, tty, stdin, stdout, stderr, ports } = target
  if (kind === 'exec') return streaming.exec({ containerId, cmd: command, tty, stdin, stdout, stderr })
  if (kind === 'attach') return streaming.attach({ containerId, tty, stdin, stdout, stderr })
  return streaming.portForward({ podSandboxId: sandboxId, ports })
}

/** Of the client's headers only what belongs to the upgrade goes to the runtime. */
function upgradeHeaders(headers: Readonly<Record<string, string | undefined>>, agreed: Agreed): Record<string, string> {
  const out: Record<string, string> = { connection: 'Upgrade', upgrade: headers.upgrade ?? '' }
  if (agreed.over === 'spdy') return { ...out, 'x-stream-protocol-version': agreed.protocol, 'content-length': '0' }
  for (const name of ['sec-websocket-key', 'sec-websocket-version'] as const) out[name] = headers[name] ?? ''
  if (agreed.protocol !== '') out['sec-websocket-protocol'] = agreed.protocol
  return out
}
