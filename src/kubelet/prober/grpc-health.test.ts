import { Server, ServerCredentials, status as Status } from '@grpc/grpc-js'
import { afterEach, expect, it } from 'vitest'
import { grpcHealth } from './grpc-health.ts'

let server: Server
afterEach(() => server.forceShutdown())

/** A health service that answers with these bytes; `asked` holds what it was asked. */
async function serve(answer: Buffer | { code: number; details: string }, asked: string[] = []): Promise<number> {
  server = new Server()
  const bytes = {
    requestSerialize: (b: Buffer) => b,
    requestDeserialize: (b: Buffer) => b,
    responseSerialize: (b: Buffer) => b,
    responseDeserialize: (b: Buffer) => b,
  }
  server.addService(
    { Check: { path: '/grpc.health.v1.Health/Check', requestStream: false, responseStream: false, ...bytes } },
    {
      Check: ((call: { request: Buffer }, done: (error: unknown, answer?: Buffer) => void) => {
        asked.push(call.request.toString('hex'))
        if (Buffer.isBuffer(answer)) done(null, answer)
        else done(answer)
      }) as never,
    },
  )
  return new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => (error ? reject(error) : resolve(port))),
  )
}

it.each([
  ['serving', '0801', { result: 'success', output: '' }],
  ['not serving', '0802', { result: 'failure', output: 'service unhealthy (responded with "NOT_SERVING")' }],
  ['zero, which is left out', '', { result: 'failure', output: 'service unhealthy (responded with "UNKNOWN")' }],
  ['a field of later times before it', '1a02ffff0801', { result: 'success', output: '' }],
])('an answer of %s', async (_, hex, outcome) => {
  const asked: string[] = []
  const port = await serve(Buffer.from(hex, 'hex'), asked)
  expect(await grpcHealth('127.0.0.1', port, '', 5000)).toEqual(outcome)
  expect(asked).toEqual([''])
})

it('names the service', async () => {
  const asked: string[] = []
  const port = await serve(Buffer.from('0801', 'hex'), asked)
  await grpcHealth('127.0.0.1', port, 's'.repeat(200), 5000)
  expect(asked).toEqual([`0ac801${'73'.repeat(200)}`])
})

it.each([
  [Status.NOT_FOUND, 'NotFound'],
  [Status.CANCELLED, 'Canceled'],
  [Status.PERMISSION_DENIED, 'PermissionDenied'],
  [Status.UNAVAILABLE, 'Unavailable'],
])('tells status %i as Go does', async (code, name) => {
  const port = await serve({ code, details: 'why' })
  expect(await grpcHealth('127.0.0.1', port, 'x', 5000)).toEqual({
    result: 'failure',
    output: `error: health rpc probe failed: rpc error: code = ${name} desc = why`,
  })
})
