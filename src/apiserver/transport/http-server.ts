import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, createSecureServer, type Http2SecureServer, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { Duplex, Readable, Writable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Credentials } from '../authentication/authenticator.ts'
import type { ApiRequest, ApiResponse, Pieces, WatchHandle, WatchSink } from '../request/api-request.ts'
import { readAll } from './body.ts'
import { compress, wantsGzip } from './compression.ts'
import { drained } from './drained.ts'
import { bearerToken, flatHeaders, splitTarget } from './headers.ts'
import { HijackedAnswer, writeUpgradeRefusal } from './upgrade.ts'
import { ChunkSink, Chunks, StreamSink } from './watch-sink.ts'

export interface ListenOptions {
  /** @default 127.0.0.1 */
  host?: string
  /** 0 takes any free port. */
  port: number
  /** PEM. */
  cert: string
  key: string
  /** PEM of the authorities whose clients are asked for a certificate; several may follow one another. */
  clientCA?: string
}

export interface Listener {
  readonly host: string
  readonly port: number
  /** Takes another serving certificate without closing anything. */
  setCertificate(cert: string, key: string): void
  close(graceMs: number): Promise<void>
}

type Serve = (request: ApiRequest) => Promise<ApiResponse>

/** Serves HTTPS: HTTP/2 and HTTP/1.1 on one port, WebSocket and SPDY by upgrade. */
export async function listenHTTPS(serve: Serve, options: ListenOptions, closeAll: (graceMs: number) => Promise<void>): Promise<Listener> {
  const sessions = new Set<ServerHttp2Session>()
  const sockets = new Set<Duplex>()
  const chunks = new Chunks()
  const server: Http2SecureServer = createSecureServer({
    cert: options.cert,
    key: options.key,
    allowHTTP1: true,
    minVersion: 'TLSv1.2',
    ...(options.clientCA ? { ca: options.clientCA, requestCert: true, rejectUnauthorized: false } : {}),
    maxSessionMemory: 64,
    settings: { maxConcurrentStreams: 250, initialWindowSize: 1 << 18 },
    // A client may send this many bytes of headers.
    maxHeaderListPairs: 512,
  })
  server.on('session', (session) => {
    sessions.add(session)
    session.on('error', () => {})
    session.once('close', () => sessions.delete(session))
  })
  server.on('secureConnection', (socket: TLSSocket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('tlsClientError', () => {})
  server.on('sessionError', () => {})
  server.on('clientError', (_error, socket: Duplex) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
  })
  server.on('stream', (stream, headers) => {
    serveStream(serve, stream, headers).catch(() => stream.destroy())
  })
  server.on('request', (request, response) => {
    if (request.httpVersionMajor === 2) return
    serveMessage(serve, request as unknown as IncomingMessage, response as unknown as ServerResponse, chunks).catch(() =>
      (request as unknown as IncomingMessage).socket.destroy(),
    )
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {})
    serveUpgrade(serve, request, socket, head).catch(() => socket.destroy())
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => socket.end('HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\n\r\n'))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host ?? '127.0.0.1', () => {
      server.removeListener('error', reject)
      server.on('error', () => {})
      resolve()
    })
  })
  const address = server.address() as AddressInfo
  return {
    host: address.address,
    port: address.port,
    setCertificate: (cert, key) => server.setSecureContext({ cert, key, ...(options.clientCA ? { ca: options.clientCA } : {}) }),
    async close(graceMs) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const session of sessions) session.close()
      await closeAll(graceMs)
      for (const session of sessions) session.destroy()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

interface PeerCache {
  credentials?: Credentials['clientCertificate']
  read?: boolean
}

const peers = new WeakMap<object, PeerCache>()

/** The verified certificate of the other side; read once per connection. */
function clientCertificate(socket: TLSSocket | undefined): Credentials['clientCertificate'] {
  if (!socket || typeof socket.getPeerCertificate !== 'function') return undefined
  let peer = peers.get(socket)
  if (!peer) {
    peer = {}
    peers.set(socket, peer)
  }
  if (peer.read) return peer.credentials
  peer.read = true
  if (!socket.authorized) return undefined
  const certificate = socket.getPeerCertificate()
  if (!certificate?.raw) return undefined
  const subject = certificate.subject as unknown as Record<string, string | string[] | undefined>
  const list = (v: string | string[] | undefined) => (v === undefined ? [] : Array.isArray(v) ? v : [v])
  peer.credentials = { commonName: list(subject.CN)[0] ?? '', organizations: list(subject.O), raw: certificate.raw }
  return peer.credentials
}

function credentialsOf(socket: TLSSocket | undefined, headers: Readonly<Record<string, string | undefined>>): Credentials {
  const certificate = clientCertificate(socket)
  const token = bearerToken(headers)
  return { headers, ...(certificate ? { clientCertificate: certificate } : {}), ...(token === undefined ? {} : { bearerToken: token }) }
}

async function serveStream(serve: Serve, stream: ServerHttp2Stream, raw: IncomingHttpHeaders): Promise<void> {
  stream.on('error', () => {})
  const session = stream.session
  const socket = session?.socket as unknown as TLSSocket | undefined
  const headers = flatHeaders(raw)
  const { path, query } = splitTarget(headers[':path'] ?? '/')
  const method = headers[':method'] ?? 'GET'
  headers.host ??= headers[':authority']
  const request: ApiRequest = {
    method,
    path,
    query,
    headers,
    credentials: credentialsOf(socket, headers),
    remoteAddress: socket?.remoteAddress ?? '',
    inProcess: false,
    readBody: (limit) => readAll(stream, limit, headers['content-length']),
    bodyStream: () => stream,
    onClose: (fn) => {
      stream.once('close', fn)
    },
  }
  const response = await serve(request)
  if (stream.destroyed || stream.headersSent) return
  const head: Record<string, string | string[] | number> = { ':status': response.status }
  for (const name in response.headers) if (name !== 'connection' && name !== 'transfer-encoding') head[name] = response.headers[name] as string
  if (response.watch || response.stream) {
    stream.respond(head)
    pump(response, stream, (handle) => stream.once('close', () => handle?.stop()))
    return
  }
  if (goesInPieces(response, headers, method)) {
    head['content-length'] = response.pieces.length
    stream.respond(head)
    await sendPieces(response.pieces, stream)
    return
  }
  const body = await bodyOf(response, headers, head)
  if (stream.destroyed) return
  if (method === 'HEAD' || body.length === 0) {
    stream.respond(head, { endStream: true })
  } else {
    head['content-length'] = body.length
    stream.respond(head)
    stream.end(body)
  }
  // A body nobody read keeps the stream open: tell the client to stop sending.
  if (!stream.readableEnded && !stream.readableFlowing) {
    stream.resume()
    if (response.status === 413) stream.close(constants.NGHTTP2_NO_ERROR)
  }
}

async function serveMessage(serve: Serve, message: IncomingMessage, out: ServerResponse, chunks: Chunks): Promise<void> {
  const headers = flatHeaders(message.headers)
  const { path, query } = splitTarget(message.url ?? '/')
  const socket = message.socket as TLSSocket
  const request: ApiRequest = {
    method: message.method ?? 'GET',
    path,
    query,
    headers,
    credentials: credentialsOf(socket, headers),
    remoteAddress: socket.remoteAddress ?? '',
    inProcess: false,
    readBody: (limit) => readAll(message, limit, headers['content-length']),
    bodyStream: () => message as Readable,
    onClose: (fn) => {
      out.once('close', fn)
    },
  }
  out.on('error', () => {})
  const response = await serve(request)
  if (out.destroyed || out.headersSent) return
  const head: Record<string, string | string[] | number> = {}
  for (const name in response.headers) head[name] = response.headers[name] as string
  if (response.watch || response.stream) {
    const byChunks = response.watch !== undefined && out.socket !== null && message.httpVersionMinor > 0
    if (byChunks) head['transfer-encoding'] = 'chunked'
    out.writeHead(response.status, head)
    out.flushHeaders()
    pump(response, out, (handle) => out.once('close', () => handle?.stop()), byChunks ? new ChunkSink(out as never, chunks) : undefined)
    return
  }
  if (goesInPieces(response, headers, request.method)) {
    head['content-length'] = response.pieces.length
    out.writeHead(response.status, head)
    await sendPieces(response.pieces, out)
    return
  }
  const body = await bodyOf(response, headers, head)
  if (!message.complete && response.status >= 400) head.connection = 'close'
  head['content-length'] = body.length
  out.writeHead(response.status, head)
  if (request.method === 'HEAD') out.end()
  // A short body as text of the same bytes leaves together with its head, in one write.
  else if (body.length <= ONE_WRITE_BYTES) out.end(Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1'), 'latin1')
  else out.end(body)
}

const ONE_WRITE_BYTES = 16 * 1024

/** Sends an endless body. */
function pump(
  response: ApiResponse,
  out: NodeJS.WritableStream & { destroyed?: boolean },
  onClose: (handle: WatchHandle | undefined) => void,
  sink?: WatchSink,
): void {
  if (response.watch) {
    const handle = response.watch.start(sink ?? new StreamSink(out as never))
    onClose(handle)
    return
  }
  const source = response.stream as Readable
  onClose({ stop: () => source.destroy() })
  source.on('error', () => (out as unknown as { destroy?: () => void }).destroy?.())
  source.pipe(out)
}

/** Whether a body is sent while it is made: what is compressed, or only measured, is made first. */
function goesInPieces(
  response: ApiResponse,
  headers: Readonly<Record<string, string | undefined>>,
  method: string,
): response is ApiResponse & { pieces: Pieces } {
  return response.pieces !== undefined && method !== 'HEAD' && !wantsGzip(headers['accept-encoding'], response.pieces.length)
}

/** Sends a body no faster than the reader takes it. */
async function sendPieces(pieces: Pieces, out: Writable): Promise<void> {
  for await (const piece of pieces.make()) {
    if (out.destroyed) return
    if (!out.write(piece)) await drained(out)
  }
  out.end()
}

async function joined(pieces: Pieces): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for await (const piece of pieces.make()) parts.push(piece)
  return Buffer.concat(parts, pieces.length)
}

async function bodyOf(
  response: ApiResponse,
  headers: Readonly<Record<string, string | undefined>>,
  head: Record<string, string | string[] | number>,
): Promise<Uint8Array> {
  const body = response.bytes ?? (response.pieces ? await joined(response.pieces) : EMPTY)
  if (!wantsGzip(headers['accept-encoding'], body.length) || head['content-encoding'] !== undefined) return body
  head['content-encoding'] = 'gzip'
  head.vary = head.vary === undefined ? 'Accept-Encoding' : `${String(head.vary)}, Accept-Encoding`
  return compress(body)
}

const EMPTY = new Uint8Array(0)

async function serveUpgrade(serve: Serve, message: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  const headers = flatHeaders(message.headers)
  const { path, query } = splitTarget(message.url ?? '/')
  const tls = socket as TLSSocket
  const request: ApiRequest = {
    method: message.method ?? 'GET',
    path,
    query,
    headers,
    credentials: credentialsOf(tls, headers),
    remoteAddress: tls.remoteAddress ?? '',
    inProcess: false,
    readBody: async () => EMPTY,
    bodyStream: () => message as Readable,
    onClose: (fn) => {
      socket.once('close', fn)
    },
    upgrade: { socket, head },
  }
  const response = await serve(request)
  if (response.hijacked) return
  if (response.pieces) response.bytes = await joined(response.pieces)
  if (response.watch) {
    const answer = new HijackedAnswer(socket, headers, head)
    answer.serveWatch(response)
    return
  }
  writeUpgradeRefusal(socket, response)
}
