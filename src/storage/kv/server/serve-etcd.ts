import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createNetServer, type Server as Listener, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { handleUnaryCall, Server, ServerDuplexStream } from '@grpc/grpc-js'
import type { Clock } from '../../../base/clock.ts'
import type { Message } from '../etcdpb/codec.ts'
import { keyBytes } from '../etcdpb/convert.ts'
import { methods } from '../etcdpb/messages.ts'
import { type KV, LeaseNotFoundError } from '../kv.ts'
import { grpcError, invalid } from './grpc-status.ts'
import { type HeaderOf, kvService } from './kv-service.ts'
import { serveWatchStream } from './watch-service.ts'

export interface ServeEtcdOptions {
  clock: Clock
  /** @default 127.0.0.1 */
  host?: string
  /** 0: any free one. */
  port: number
  /** Listens on that port already: its socket is taken over. */
  listener?: Listener
  /** PEM texts. With `ca`, clients must show a certificate of it. */
  tls?: { cert: string; key: string; ca?: string }
  /** The member's name in the cluster of one. @default default */
  name?: string
}

export interface EtcdServer {
  readonly port: number
  readonly url: string
  /** Stops to listen, ends every connection. The store stays open. */
  close(): Promise<void>
}

/** The version of etcd whose API this is. */
const VERSION = '3.6.8'
const CLUSTER_VERSION = '3.6.0'
const CLUSTER_ID = 0x6b38_7473_0000_0001n
const MEMBER_ID = 0x6b38_7473_0000_0002n
/** etcd's limit of 1.5 MiB, and what the frame around it may take. */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024
/** Of one stream, waiting for their answer. */
const MAX_KEEP_ALIVES = 1000
const PREFACE = 'PRI '
const SNIFF_MS = 10_000

type ConnectionInjector = ReturnType<Server['createConnectionInjector']>
type Unary = (request: Message) => Promise<Message>

function unary(handler: Unary): handleUnaryCall<Message, Message> {
  return (call, done) => {
    handler(call.request).then(
      (response) => done(null, response),
      (e) => done(grpcError(e)),
    )
  }
}

function leaseService(kv: KV, header: HeaderOf): Record<string, Unary> {
  return {
    LeaseGrant: async (m) => {
      const ttl = m['TTL'] as number
      if (ttl <= 0) throw invalid('etcdserver: lease TTL must be positive')
      const id = m['ID'] as bigint
      const lease = await kv.leaseGrant(ttl, id === 0n ? undefined : id)
      return { header: header(), ID: lease.id, TTL: lease.ttlSeconds, error: '' }
    },
    LeaseRevoke: async (m) => {
      await kv.leaseRevoke(m['ID'] as bigint)
      return { header: header() }
    },
    LeaseTimeToLive: async (m) => {
      try {
        const lease = await kv.leaseTimeToLive(m['ID'] as bigint)
        return { header: header(), ID: lease.id, TTL: lease.ttlSeconds, grantedTTL: lease.grantedSeconds, keys: m['keys'] ? lease.keys.map(keyBytes) : [] }
      } catch (e) {
        if (e instanceof LeaseNotFoundError) return { header: header(), ID: m['ID'], TTL: -1 }
        throw e
      }
    },
    LeaseLeases: async () => ({ header: header(), leases: (await kv.leases()).map((ID) => ({ ID })) }),
  }
}

function serveKeepAlives(kv: KV, stream: ServerDuplexStream<Message, Message>, header: HeaderOf): void {
  let open = 0
  let ended = false
  const answered = () => {
    open--
    if (ended && open === 0) stream.end()
    else if (open < MAX_KEEP_ALIVES && stream.isPaused()) stream.resume()
  }
  stream.on('data', (m: Message) => {
    open++
    if (open >= MAX_KEEP_ALIVES) stream.pause()
    kv.leaseKeepAlive(m['ID'] as bigint)
      .then(
        (lease) => stream.write({ header: header(), ID: lease.id, TTL: lease.ttlSeconds }),
        (e) => {
          if (e instanceof LeaseNotFoundError) stream.write({ header: header(), ID: m['ID'], TTL: 0 })
          else stream.destroy(grpcError(e))
        },
      )
      .finally(answered)
  })
  stream.on('end', () => {
    ended = true
    if (open === 0) stream.end()
  })
  stream.on('error', () => undefined)
}

function plainHandler(kv: KV, keys: () => Promise<number>): (request: IncomingMessage, response: ServerResponse) => void {
  const answer = (response: ServerResponse, code: number, type: string, body: string) => {
    response.writeHead(code, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body), 'X-Content-Type-Options': 'nosniff' })
    response.end(body)
  }
  const json = 'application/json'
  return (request, response) => {
    const path = (request.url ?? '/').split('?')[0]
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(response, 405, 'text/plain; charset=utf-8', 'Method Not Allowed\n')
    if (path === '/version') return answer(response, 200, json, JSON.stringify({ etcdserver: VERSION, etcdcluster: CLUSTER_VERSION }))
    if (path === '/health' || path === '/livez' || path === '/readyz') {
      keys().then(
        () => answer(response, 200, path === '/health' ? json : 'text/plain; charset=utf-8', path === '/health' ? '{"health":"true","reason":""}' : 'ok\n'),
        (e: Error) => answer(response, 503, json, JSON.stringify({ health: 'false', reason: e.message })),
      )
      return
    }
    if (path === '/metrics') {
      Promise.all([keys(), kv.size()]).then(
        ([count, size]) =>
          answer(
            response,
            200,
            'text/plain; version=0.0.4; charset=utf-8',
            [
              '# TYPE etcd_server_has_leader gauge',
              'etcd_server_has_leader 1',
              '# TYPE etcd_debugging_mvcc_keys_total gauge',
              `etcd_debugging_mvcc_keys_total ${count}`,
              '# TYPE etcd_debugging_mvcc_current_revision gauge',
              `etcd_debugging_mvcc_current_revision ${kv.revision}`,
              '# TYPE etcd_debugging_mvcc_compact_revision gauge',
              `etcd_debugging_mvcc_compact_revision ${kv.compactedRevision}`,
              '# TYPE etcd_mvcc_db_total_size_in_bytes gauge',
              `etcd_mvcc_db_total_size_in_bytes ${size.totalBytes}`,
              '# TYPE etcd_mvcc_db_total_size_in_use_in_bytes gauge',
              `etcd_mvcc_db_total_size_in_use_in_bytes ${size.usedBytes}`,
              '',
            ].join('\n'),
          ),
        (e: Error) => answer(response, 503, 'text/plain; charset=utf-8', `${e.message}\n`),
      )
      return
    }
    answer(response, 404, 'text/plain; charset=utf-8', '404 page not found\n')
  }
}

/** Serves a store in etcd's own v3 API: gRPC, and plain HTTP for health, version and metrics, on one port. */
export async function serveEtcd(kv: KV, options: ServeEtcdOptions): Promise<EtcdServer> {
  const header: HeaderOf = (revision) => ({ cluster_id: CLUSTER_ID, member_id: MEMBER_ID, revision: revision ?? kv.revision, raft_term: 2 })
  const keyCount = async () => (await kv.range({ key: '\0', end: '\0', countOnly: true })).count

  const host = options.host ?? '127.0.0.1'
  const shownHost = host.includes(':') ? `[${host}]` : host
  let url = ''
  const all = (service: Record<string, Unary>) => Object.fromEntries(Object.entries(service).map(([name, handler]) => [name, unary(handler)]))

  // Most stores are never asked over gRPC: it is loaded for the first who does.
  let grpcServer: Server | undefined
  const openGrpc = async (): Promise<ConnectionInjector> => {
    const grpc = await import('@grpc/grpc-js')
    const server = new grpc.Server({ 'grpc.max_receive_message_length': MAX_MESSAGE_BYTES, 'grpc.max_send_message_length': -1 })
    grpcServer = server
    server.addService(methods.KV as never, all(kvService(kv, header)))
    server.addService(
      methods.Watch as never,
      { Watch: (stream: ServerDuplexStream<Message, Message>) => serveWatchStream(kv, stream, { header, clock: options.clock }) } as never,
    )
    server.addService(
      methods.Lease as never,
      {
        ...all(leaseService(kv, header)),
        LeaseKeepAlive: (stream: ServerDuplexStream<Message, Message>) => serveKeepAlives(kv, stream, header),
      } as never,
    )
    server.addService(
      methods.Maintenance as never,
      all({
        Status: async () => {
          const size = await kv.size()
          return {
            header: header(),
            version: VERSION,
            dbSize: size.totalBytes,
            leader: MEMBER_ID,
            raftIndex: kv.revision,
            raftTerm: 2,
            raftAppliedIndex: kv.revision,
            dbSizeInUse: size.usedBytes,
          }
        },
        Alarm: async () => ({ header: header(), alarms: [] }),
        Defragment: async () => ({ header: header() }),
      }),
    )
    server.addService(
      methods.Cluster as never,
      all({
        MemberList: async () => ({
          header: header(),
          members: [{ ID: MEMBER_ID, name: options.name ?? 'default', peerURLs: [], clientURLs: [url], isLearner: false }],
        }),
      }),
    )
    return server.createConnectionInjector(grpc.ServerCredentials.createInsecure())
  }
  let opening: Promise<ConnectionInjector> | undefined
  const http = createHttpServer({ headersTimeout: SNIFF_MS, requestTimeout: SNIFF_MS }, plainHandler(kv, keyCount))

  let closed = false
  const sockets = new Set<Socket>()
  const accept = (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    const late = options.clock.setTimeout(() => socket.destroy(), SNIFF_MS)
    socket.once('close', () => late.cancel())
    const sniff = () => {
      const chunk = socket.read() as Buffer | null
      if (!chunk) return void socket.once('readable', sniff)
      socket.unshift(chunk)
      if (chunk.length < PREFACE.length && PREFACE.startsWith(chunk.toString('latin1'))) return void socket.once('readable', sniff)
      late.cancel()
      if (chunk.toString('latin1', 0, PREFACE.length) === PREFACE) {
        opening ??= openGrpc()
        opening.then(
          (injector) => !closed && !socket.destroyed && injector.injectConnection(socket),
          () => socket.destroy(),
        )
      } else http.emit('connection', socket)
    }
    socket.once('readable', sniff)
  }
  const { tls } = options
  const listener: Listener = tls
    ? createTlsServer(
        {
          cert: tls.cert,
          key: tls.key,
          // gRPC clients offer h2 alone; whoever offers both is here for the plain pages.
          ALPNProtocols: ['http/1.1', 'h2'],
          minVersion: 'TLSv1.2',
          ...(tls.ca ? { ca: tls.ca, requestCert: true, rejectUnauthorized: true } : {}),
        },
        accept,
      )
    : createNetServer(accept)
  listener.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject)
    const listening = () => {
      listener.off('error', reject)
      resolve()
    }
    if (options.listener) listener.listen(options.listener, listening)
    else listener.listen(options.port, host, listening)
  })
  const { port } = listener.address() as AddressInfo
  url = `${tls ? 'https' : 'http'}://${shownHost}:${port}`
  return {
    port,
    url,
    close: async () => {
      closed = true
      const ended = new Promise<void>((resolve) => listener.close(() => resolve()))
      grpcServer?.forceShutdown()
      http.close()
      for (const socket of sockets) socket.destroy()
      await ended
    },
  }
}
