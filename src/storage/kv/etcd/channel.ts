import type { Client, ClientDuplexStream, ClientOptions, ServiceError } from '@grpc/grpc-js'
import type { Message } from '../etcdpb/codec.ts'
import type { Method } from '../etcdpb/messages.ts'
import {
  CompactedError,
  connectionRefused,
  FutureRevisionError,
  LeaseExistsError,
  LeaseNotFoundError,
  RequestTooLargeError,
  StoreUnavailableError,
} from '../kv.ts'
import { DuplicateKeyError } from '../mvcc/evaluate.ts'

export interface EtcdConnection {
  /** `http://host:port` or `https://…`; the first that answers is used. */
  endpoints: string[]
  /** PEM texts: the authority etcd is known by, and what it knows us by. */
  tls?: { ca: string; cert?: string; key?: string }
}

const UNARY_MS = 30_000
const MAX_MESSAGE_BYTES = 256 * 1024 * 1024

/** An error of etcd's as the store's own. */
export function fromGrpc(error: unknown, current = 0): Error {
  const { code, details } = error as ServiceError
  if (code === undefined) return error instanceof Error ? error : new Error(String(error))
  if (details.includes('required revision has been compacted')) return new CompactedError(current)
  if (details.includes('required revision is a future revision')) return new FutureRevisionError(current)
  if (details.includes('requested lease not found')) return new LeaseNotFoundError()
  if (details.includes('lease already exists')) return new LeaseExistsError()
  if (details.includes('duplicate key given')) return new DuplicateKeyError()
  if (details.includes('request is too large')) return new RequestTooLargeError()
  // Nobody knows whether it happened. In the words of a Go client, which users may have read before.
  if (code === 1) return new StoreUnavailableError('context canceled')
  if (code === 4) return new StoreUnavailableError('context deadline exceeded')
  if (code === 14) {
    const refused = /connect ECONNREFUSED (\S+:\d+)/.exec(details)?.[1]
    if (refused) return connectionRefused(refused)
    return new StoreUnavailableError(details.startsWith('etcdserver: ') ? details : `rpc error: code = Unavailable desc = ${details}`)
  }
  return new Error(details, { cause: error })
}

/** The calls that are made of etcd, over one channel. */
export class Channel {
  private readonly client: Client

  private constructor(client: Client) {
    this.client = client
  }

  static async open(connection: EtcdConnection): Promise<Channel> {
    const grpc = await import('@grpc/grpc-js')
    const { endpoints, tls } = connection
    if (endpoints.length === 0) throw new Error('no etcd endpoint given')
    const hosts = endpoints.map((e) => e.replace(/^https?:\/\//, '').replace(/\/$/, ''))
    const options: ClientOptions = {
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.keepalive_time_ms': 30_000,
      'grpc.keepalive_timeout_ms': 10_000,
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 3000,
    }
    const credentials = tls
      ? grpc.credentials.createSsl(Buffer.from(tls.ca), tls.key ? Buffer.from(tls.key) : null, tls.cert ? Buffer.from(tls.cert) : null)
      : grpc.credentials.createInsecure()
    // Addresses of several members are one target; the first that accepts is kept.
    const target = hosts.length === 1 || hosts.some((h) => !/^[\d.]+:\d+$/.test(h)) ? (hosts[0] as string) : `ipv4:${hosts.join(',')}`
    return new Channel(new grpc.Client(target, credentials, options))
  }

  call(method: Method, request: Message): Promise<Message> {
    return new Promise((resolve, reject) => {
      // A deadline of gRPC's is a point in time on the platform's clock.
      const deadline = performance.timeOrigin + performance.now() + UNARY_MS
      this.client.makeUnaryRequest(method.path, method.requestSerialize, method.responseDeserialize, request, { deadline }, (error, response) => {
        if (error) reject(error)
        else resolve(response as Message)
      })
    })
  }

  stream(method: Method): ClientDuplexStream<Message, Message> {
    return this.client.makeBidiStreamRequest(method.path, method.requestSerialize, method.responseDeserialize)
  }

  close(): void {
    this.client.close()
  }
}
