import type { Client as GrpcClient, ServiceError } from '@grpc/grpc-js'
import { RuntimeError, type RuntimeErrorCode } from '../../runtime/runtime.ts'
import { type Message, MessageCodec, type MessageTable } from './message-codec.ts'
import { criMessages } from './messages.generated.ts'

/** Calls to a CRI endpoint over its unix socket. */
export interface CriClient {
  call(service: 'RuntimeService' | 'ImageService', method: string, request: Message, options?: { timeoutMs?: number; signal?: AbortSignal }): Promise<Message>
  /** Resolves or rejects when the stream has ended. */
  stream(
    service: string,
    method: string,
    codec: { encode(): Uint8Array; decode(bytes: Uint8Array): void },
    signal: AbortSignal,
    metadata?: Record<string, string>,
  ): Promise<void>
  readonly codec: MessageCodec
  close(): void
}

const CODES: Record<number, RuntimeErrorCode> = {
  1: 'Canceled',
  3: 'InvalidArgument',
  4: 'DeadlineExceeded',
  5: 'NotFound',
  6: 'AlreadyExists',
  7: 'PermissionDenied',
  8: 'ResourceExhausted',
  9: 'FailedPrecondition',
  12: 'Unimplemented',
  13: 'Internal',
  14: 'Unavailable',
}

const DEFAULT_TIMEOUT_MS = 120_000

/** @param endpoint `unix:///run/containerd/containerd.sock` */
export async function connectCri(endpoint: string): Promise<CriClient> {
  // Loaded here: clusters without containers never pay for it.
  const grpc = await import('@grpc/grpc-js')
  const codec = new MessageCodec(JSON.parse(criMessages) as MessageTable)
  const target = endpoint.replace(/^unix:\/\//, 'unix:')
  const client: GrpcClient = new grpc.Client(target, grpc.credentials.createInsecure(), {
    'grpc.default_authority': 'localhost',
    'grpc.max_receive_message_length': -1,
    'grpc.initial_reconnect_backoff_ms': 50,
    'grpc.max_reconnect_backoff_ms': 500,
  })
  const wrap = (e: ServiceError) => new RuntimeError(CODES[e.code] ?? 'Unknown', e.details || e.message, e)
  return {
    codec,
    call(service, method, request, options = {}) {
      return new Promise((resolve, reject) => {
        const { signal } = options
        if (signal?.aborted) return reject(signal.reason)
        const deadline = new Date(performance.timeOrigin + performance.now() + (options.timeoutMs ?? DEFAULT_TIMEOUT_MS))
        const onAbort = () => call.cancel()
        const call = client.makeUnaryRequest(
          `/runtime.v1.${service}/${method}`,
          (m: Message) => Buffer.from(codec.encode(`${method}Request`, m)),
          (b: Buffer) => codec.decode(`${method}Response`, b),
          request,
          new grpc.Metadata(),
          { deadline },
          (error, response) => {
            signal?.removeEventListener('abort', onAbort)
            if (error) reject(signal?.aborted ? signal.reason : wrap(error))
            else resolve(response as Message)
          },
        )
        signal?.addEventListener('abort', onAbort, { once: true })
      })
    },
    stream(service, method, streamCodec, signal, metadata = {}) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return resolve()
        const meta = new grpc.Metadata()
        for (const [k, v] of Object.entries(metadata)) meta.set(k, v)
        const call = client.makeServerStreamRequest(
          `/${service}/${method}`,
          () => Buffer.from(streamCodec.encode()),
          (b: Buffer) => {
            streamCodec.decode(b)
            // Null would end the stream.
            return true
          },
          undefined,
          meta,
        )
        const onAbort = () => call.cancel()
        signal.addEventListener('abort', onAbort, { once: true })
        const done = (fn: () => void) => {
          signal.removeEventListener('abort', onAbort)
          fn()
        }
        call.on('data', () => {})
        call.on('end', () => done(resolve))
        call.on('error', (e: ServiceError) => done(() => (signal.aborted ? resolve() : reject(wrap(e)))))
      })
    },
    close: () => client.close(),
  }
}
