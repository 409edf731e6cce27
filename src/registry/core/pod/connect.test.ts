import { expect, it } from 'vitest'
import { StatusError } from '../../../apimachinery/errors.ts'
import type { Client } from '../../../client/client.ts'
import { nodeConnectHandlers, type PodConnectOptions } from './connect.ts'

it('a kubelet that is not reached is told as a Status', async () => {
  const client = { resource: () => ({ get: async () => ({ metadata: { name: 'n' }, status: {} }) }) } as unknown as Client
  const options = {
    client,
    connect: async () => Promise.reject(new Error('no preferred addresses found; known addresses: []')),
  } as unknown as PodConnectOptions
  const context = { request: { method: 'GET', headers: {} }, query: new URLSearchParams() }
  const call = { name: 'n', namespace: '', path: '/', context } as never
  const error = await nodeConnectHandlers(options)
    ['nodes/proxy']?.connect(call)
    .catch((e: unknown) => e)
  expect(error).toBeInstanceOf(StatusError)
  expect(error).toMatchObject({ code: 500, reason: '', message: 'no preferred addresses found; known addresses: []' })
})
