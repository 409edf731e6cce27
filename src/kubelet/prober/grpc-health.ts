import type { ServiceError } from '@grpc/grpc-js'
import { Reader, ReverseWriter } from '../../apimachinery/protobuf/wire.ts'
import { goDuration } from '../time.ts'
import type { ProbeOutcome } from './outcome.ts'

const STATUS = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN']

/** One call of grpc.health.v1.Health/Check. */
export async function grpcHealth(host: string, port: number, service: string, timeoutMs: number): Promise<ProbeOutcome> {
  const grpc = await import('@grpc/grpc-js')
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const client = new grpc.Client(address, grpc.credentials.createInsecure(), { 'grpc.primary_user_agent': 'kube-probe/1.36' })
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
          checkRequest,
          servingStatus,
          service,
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
                output: `error: health rpc probe failed: rpc error: code = ${codeName(grpc.status[error.code] ?? 'UNKNOWN')} desc = ${error.details}`,
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

/** A status code as Go prints it: `NOT_FOUND` is NotFound. */
function codeName(constant: string): string {
  if (constant === 'CANCELLED') return 'Canceled'
  return constant.replace(/_?([A-Z])([A-Z]*)/g, (_, first: string, rest: string) => first + rest.toLowerCase())
}

/** HealthCheckRequest: field 1 is the service. */
function checkRequest(service: string): Buffer {
  const out = new ReverseWriter()
  if (service !== '') {
    out.string(service)
    out.tag(1, 2)
  }
  return Buffer.from(out.finish())
}

/** Field 1 of HealthCheckResponse. */
function servingStatus(bytes: Buffer): number {
  const reader = new Reader(bytes)
  let status = 0
  while (reader.at < reader.end) {
    const tag = reader.varint()
    if (tag === 8) status = reader.varint()
    else reader.skip(tag % 8)
  }
  return status
}
