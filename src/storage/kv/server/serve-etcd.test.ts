import { execFile, spawn, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../base/system-clock.ts'
import { createMemoryKV, type MemoryKV } from '../memory/memory-kv.ts'
import { type EtcdServer, serveEtcd } from './serve-etcd.ts'

const ETCDCTL = process.env.ETCDCTL ?? 'etcdctl'
const hasEtcdctl = spawnSync(ETCDCTL, ['version']).status === 0
const run = promisify(execFile)

describe('etcd server', () => {
  const clock = systemClock()
  let kv: MemoryKV
  let server: EtcdServer
  beforeAll(async () => {
    kv = createMemoryKV({ clock })
    server = await serveEtcd(kv, { clock, port: 0 })
  })
  afterAll(async () => {
    await server.close()
    await kv.close()
  })

  it('answers plain HTTP on the same port', async () => {
    const get = async (path: string, init?: RequestInit) => {
      const r = await fetch(`${server.url}${path}`, init)
      return [r.status, await r.text()]
    }
    expect(await get('/health')).toEqual([200, '{"health":"true","reason":""}'])
    expect(await get('/version')).toEqual([200, '{"etcdserver":"3.6.8","etcdcluster":"3.6.0"}'])
    expect((await get('/metrics'))[1]).toContain('etcd_debugging_mvcc_current_revision 1')
    expect((await get('/nope'))[0]).toBe(404)
    expect((await get('/health', { method: 'POST' }))[0]).toBe(405)
  })

  it('the tool is there under CI', () => {
    if (process.env.CI) expect(hasEtcdctl, 'etcdctl is missing: install etcd-client').toBe(true)
  })

  describe.skipIf(!hasEtcdctl)('with etcdctl (skipped without the tool)', () => {
    // Without the scheme: the tool's release 3.4 makes an authority of it that HTTP/2 does not allow.
    const ctl = async (...args: string[]) =>
      (await run(ETCDCTL, ['--endpoints', `127.0.0.1:${server.port}`, ...args], { env: { ...process.env, ETCDCTL_API: '3' } })).stdout
    const ctlIn = (input: string, ...args: string[]) =>
      new Promise<string>((resolve) => {
        const child = spawn(ETCDCTL, ['--endpoints', server.url, ...args], { env: { ...process.env, ETCDCTL_API: '3' } })
        let out = ''
        child.stdout.on('data', (d) => (out += d))
        child.stderr.on('data', (d) => (out += d))
        child.on('close', () => resolve(out))
        child.stdin.end(input)
      })

    it('puts, gets by prefix, sorts, limits, counts and deletes', async () => {
      expect(await ctl('put', '/registry/pods/a', '{"a":1}')).toBe('OK\n')
      await ctl('put', '/registry/pods/b', '{"b":2}')
      await ctl('put', '/registry/services/c', '3')
      expect(await ctl('get', '/registry', '--prefix')).toBe('/registry/pods/a\n{"a":1}\n/registry/pods/b\n{"b":2}\n/registry/services/c\n3\n')
      expect(await ctl('get', '/registry', '--prefix', '--keys-only', '--order=DESCEND', '--sort-by=CREATE', '--limit=1')).toBe('/registry/services/c\n\n')
      expect(JSON.parse(await ctl('get', '/registry/pods/a', '-w', 'json'))).toMatchObject({
        header: { revision: kv.revision },
        kvs: [{ version: 1, mod_revision: 2 }],
        count: 1,
      })
      expect(await ctl('put', '/registry/pods/a', 'new', '--prev-kv')).toBe('OK\n/registry/pods/a\n{"a":1}\n')
      expect(await ctl('get', '/registry/pods/a', '--rev=2', '--print-value-only')).toBe('{"a":1}\n')
      expect(await ctl('del', '/registry/pods', '--prefix')).toBe('2\n')
      expect(await ctl('get', '', '--from-key', '--keys-only')).toBe('/registry/services/c\n\n')
    })

    it('runs transactions', async () => {
      await ctl('put', 't', 'one')
      expect(await ctlIn('value("t") = "one"\nversion("t") > "0"\n\nput t two\nget t\n\nput t three\n\n', 'txn')).toBe('SUCCESS\n\nOK\n\nt\ntwo\n')
      expect(await ctlIn('value("t") = "one"\n\nput t x\n\nget t\n\n', 'txn')).toBe('FAILURE\n\nt\ntwo\n')
      expect(await ctlIn('\nput t 1\nput t 2\n\n\n', 'txn')).toContain('etcdserver: duplicate key given in txn request')
    })

    it('grants, shows, keeps alive and revokes leases', async () => {
      const id = /lease (\w+) granted with TTL\(100s\)/.exec(await ctl('lease', 'grant', '100'))?.[1] as string
      await ctl('put', 'leased', 'x', `--lease=${id}`)
      expect(await ctl('lease', 'timetolive', id, '--keys')).toMatch(/granted with TTL\(100s\), remaining\(\d+s\), attached keys\(\[leased\]\)/)
      expect(await ctl('lease', 'keep-alive', '--once', id)).toContain('keepalived with TTL(100)')
      expect(await ctl('lease', 'list')).toContain(id)
      expect(await ctl('lease', 'revoke', id)).toBe(`lease ${id} revoked\n`)
      expect(await ctl('get', 'leased')).toBe('')
      expect(await ctl('lease', 'timetolive', id)).toContain('already expired')
    })

    it('watches from the past, from now, and tells of compaction', async () => {
      const start = kv.revision + 1
      await ctl('put', 'w/a', '1')
      await ctl('del', 'w/a')
      const child = spawn(ETCDCTL, ['--endpoints', server.url, 'watch', 'w/', '--prefix', '--prev-kv', `--rev=${start}`], {
        env: { ...process.env, ETCDCTL_API: '3' },
      })
      let out = ''
      const lines = (n: number) =>
        new Promise<void>((resolve) => {
          const check = () => out.split('\n').length > n && resolve()
          child.stdout.on('data', check)
          check()
        })
      child.stdout.on('data', (d) => (out += d))
      await lines(7)
      await ctl('put', 'w/b', '2')
      await lines(10)
      child.kill()
      expect(out).toBe('PUT\nw/a\n1\nDELETE\nw/a\n1\nw/a\n\nPUT\nw/b\n2\n')
      await ctl('compact', String(kv.revision))
      await expect(ctl('get', 'w/a', `--rev=${start}`)).rejects.toThrow('etcdserver: mvcc: required revision has been compacted')
      await expect(ctl('get', 'w/a', '--rev=99999')).rejects.toThrow('etcdserver: mvcc: required revision is a future revision')
      const late = await ctlIn('', 'watch', 'w/', '--prefix', `--rev=${start}`)
      expect(late).toContain('watch was canceled (etcdserver: mvcc: required revision has been compacted)')
    })

    it('tells its status and its one member', async () => {
      const [status] = JSON.parse(await ctl('endpoint', 'status', '-w', 'json'))
      expect(status.Status).toMatchObject({ version: '3.6.8', header: { revision: kv.revision } })
      expect(await ctl('member', 'list')).toContain(server.url)
      expect(await ctl('endpoint', 'health').catch((e) => e.stderr)).toMatch(/is healthy|^$/)
    })
  })
})
