import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../base/system-clock.ts'
import { VirtualClock } from '../../../base/virtual-clock.ts'
import type { WatchRequest } from '../kv.ts'
import { createMemoryKV, type MemoryKV } from '../memory/memory-kv.ts'
import { type EtcdServer, serveEtcd } from '../server/serve-etcd.ts'
import { kvContract } from '../testing/contract.ts'
import { openEtcdKV } from './etcd-kv.ts'

const clock = systemClock()

describe('over our own server', () => {
  let kv: MemoryKV
  let server: EtcdServer
  beforeAll(async () => {
    kv = createMemoryKV({ clock, autoCompaction: false })
    server = await serveEtcd(kv, { clock, port: 0 })
  })
  afterAll(async () => {
    await server.close()
    await kv.close()
  })
  kvContract('etcd client over our own server', { open: () => openEtcdKV({ endpoints: [server.url], clock }), realTime: true, runs: 10 })
})

it('nobody listening is told as a Go client tells it', async () => {
  const kv = createMemoryKV({ clock, autoCompaction: false })
  const server = await serveEtcd(kv, { clock, port: 0 })
  await server.close()
  await kv.close()
  await expect(openEtcdKV({ endpoints: [server.url], clock })).rejects.toThrow(
    `rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:${server.port}: connect: connection refused"`,
  )
})

describe('over an etcd that does not answer progress requests', () => {
  it('a watch is waited for no longer than etcd itself would', async () => {
    const kv = createMemoryKV({ clock, autoCompaction: false })
    let asked = 0
    let hung: () => void = () => {}
    const hangs = new Promise<void>((resolve) => {
      hung = resolve
    })
    const never = () => {
      asked++
      hung()
      return new Promise<number>(() => {})
    }
    const deaf = new Proxy(kv, {
      get: (target, name) => {
        if (name === 'watch') return (request: WatchRequest) => ({ ...target.watch(request), progress: never })
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const server = await serveEtcd(deaf, { clock, port: 0 })
    const time = new VirtualClock()
    const etcd = await openEtcdKV({ endpoints: [server.url], clock: time })
    try {
      const watch = etcd.watch({ key: 'a', onEvents() {} })
      const outcome = watch.progress().then(
        () => 'progress',
        (e: Error) => `${e.name}: ${e.message}`,
      )
      await hangs
      await time.advance(7000)
      expect(await outcome).toBe('StoreUnavailableError: etcdserver: request timed out')
      const before = asked
      await time.advance(10_000)
      expect(asked).toBe(before)
    } finally {
      await etcd.close()
      await server.close()
      await kv.close()
    }
  })
})

const ETCD = process.env.ETCD ?? 'etcd'
const hasEtcd = spawnSync(ETCD, ['--version']).status === 0

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

it('a real etcd is there under CI', () => {
  if (process.env.CI) expect(hasEtcd, 'etcd is missing: install etcd-server').toBe(true)
})

describe.skipIf(!hasEtcd)('over a real etcd (skipped without the program)', () => {
  let child: ChildProcess
  let endpoint: string
  const dir = mkdtempSync(join(tmpdir(), 'k8ts-etcd-'))
  beforeAll(async () => {
    const [client, peer] = [await freePort(), await freePort()]
    endpoint = `http://127.0.0.1:${client}`
    const peerUrl = `http://127.0.0.1:${peer}`
    child = spawn(
      ETCD,
      [
        '--data-dir',
        dir,
        '--listen-client-urls',
        endpoint,
        '--advertise-client-urls',
        endpoint,
        '--listen-peer-urls',
        peerUrl,
        '--initial-advertise-peer-urls',
        peerUrl,
        '--initial-cluster',
        `default=${peerUrl}`,
        '--unsafe-no-fsync',
      ],
      { stdio: 'ignore' },
    )
    for (let i = 0; ; i++) {
      try {
        await (await openEtcdKV({ endpoints: [endpoint], clock })).close()
        return
      } catch (e) {
        if (i > 50) throw e
        await clock.sleep(100)
      }
    }
  }, 20_000)
  afterAll(() => {
    child.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  })
  kvContract('real etcd', { open: () => openEtcdKV({ endpoints: [endpoint], clock }), realTime: true, runs: 10 })
})
