import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { systemClock } from '../../base/system-clock.ts'
import { createMemoryKV } from '../../storage/kv/memory/memory-kv.ts'
import { serveEtcd } from '../../storage/kv/server/serve-etcd.ts'
import { holdFreePort } from './preflight.ts'

test('starts that look for a port at the same moment get different ones, which stay theirs until they serve there', async () => {
  const held = await Promise.all(Array.from({ length: 8 }, () => holdFreePort('127.0.0.1', 23_790)))
  const ports = held.map((h) => h.port)
  expect(new Set(ports).size).toBe(8)
  const [first] = held
  if (!first) throw new Error('none')
  const ended = await new Promise((resolve) => connect(first.port, '127.0.0.1').once('close', resolve))
  expect(ended).toBe(false)

  const clock = systemClock()
  const kv = createMemoryKV({ clock })
  const server = await serveEtcd(kv, { clock, port: first.port, listener: first.listener })
  try {
    expect(server.port).toBe(first.port)
    expect(await (await fetch(`${server.url}/health`)).text()).toBe('{"health":"true","reason":""}')
    const other = await holdFreePort('127.0.0.1', first.port)
    expect(ports).not.toContain(other.port)
    other.listener.close()
  } finally {
    await server.close()
    await kv.close()
    for (const { listener } of held.slice(1)) listener.close()
  }
  const again = await holdFreePort('127.0.0.1', first.port)
  expect(again.port).toBe(first.port)
  again.listener.close()
})
