import type { ServiceError } from '@grpc/grpc-js'
import { goDuration } from '../time.ts'
import type { ProbeOutcome } from './outcome.ts'

const STATUS = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN']

/** One call of grpc.health.v1.Health/Check. */
export async function grpcHealth(host: string, port: number, service: string, timeoutMs: number): Promise<ProbeOutcome> {
  const grpc = await import('@grpc/grpc-js')
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const client = new grpc.Client(address, grpc.credentials.createInsecure(), { 'grpc.primary_user_agent': 'kube-probe/1.36' })
  const name = Buffer.from(service, 'utf8')
  const request = service === '' ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, ...varint(name.length)]), name])
  try {
    return await new Promise<ProbeOutcome>((resolve) => {
      const deadline = new Date(performance.timeOrigin + performance.now() + timeoutMs)
      client.waitForReady(deadline, (notReady) => {
        if (notReady) {
          return resolve({
            result: 'failure',
            output: `timeout: failed to connect service ${JSON.stringify(address)} within ${goDuration(timeoutMs)}: context deadline exceeded`,
          })
        }
        client.makeUnaryRequest(
          '/grpc.health.v1.Health/Check',
          (b: Buffer) => b,
          (b: Buffer) => servingStatus(b),
          request,
          { deadline },
          (error: ServiceError | null, status?: number) => {
            if (error) {
              if (error.code === grpc.status.UNIMPLEMENTED) {
                return resolve({
                  result: 'failure',
                  output: `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${error.details}`,
                })
              }
              if (error.code === grpc.status.DEADLINE_EXCEEDED)
                return resolve({ result: 'failure', output: `timeout: health rpc did not complete within ${goDuration(timeoutMs)}` })
              return resolve({
                result: 'failure',
                output: `error: health rpc probe failed: rpc error: code = ${grpc.status[error.code]} desc = ${error.details}`,
              })
            }
            if (status === 1) return resolve({ result: 'success', output: '' })
            resolve({ result: 'failure', output: `service unhealthy (responded with ${JSON.stringify(STATUS[status ?? 0] ?? 'UNKNOWN')})` })
          },
        )
      })
    })
  } finally {
    client.close()
  }
}

function varint(n: number): number[] {
  return n < 128 ? [n] : [(n & 0x7f) | 0x80, ...varint(n >> 7)]
}

/** Field 1 of HealthCheckResponse. */
function servingStatus(b: Buffer): number {
  return b.length >= 2 && b[0] === 0x08 ? (b[1] as number) : 0
}
