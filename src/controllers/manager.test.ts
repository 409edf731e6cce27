import { describe, expect, it } from 'vitest'
import { resources } from '../api/index.ts'
import { seededRandom, VirtualClock } from '../base/index.ts'
import { createClient } from '../client/index.ts'
import { silentLogger } from '../component-base/index.ts'
import { FakeApi } from '../testing/fake-api.ts'
import { controllers, isControllerEnabled, runControllerManager } from './index.ts'

describe('controller manager', () => {
  it('takes its lease, works, gives the lease up and leaves nothing behind', async () => {
    const clock = new VirtualClock()
    const random = seededRandom(3)
    const api = new FakeApi(clock, random)
    const client = createClient(api, { clock })
    const stop = new AbortController()
    const make = (signal: AbortSignal, hostname: string) =>
      runControllerManager({ client, clock, random, log: silentLogger(), signal, options: { hostname, rootCA: 'PEM' } })
    const first = make(stop.signal, 'a')
    await client.resource(resources.corev1.namespaces).create({ metadata: { name: 'team' } } as never)
    await clock.advance(3_000)
    const other = new AbortController()
    const second = make(other.signal, 'b')
    await clock.advance(30_000)
    const leases = client.resource(resources.coordinationv1.leases).namespace('kube-system')
    expect((await leases.get('kube-controller-manager')).spec.holderIdentity).toMatch(/^a_/)
    expect((await client.resource(resources.corev1.serviceaccounts).list()).items).toHaveLength(1)
    stop.abort(new Error('stop'))
    await clock.settle()
    await first
    expect((await leases.get('kube-controller-manager')).spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 })
    await clock.advance(5_000)
    expect((await leases.get('kube-controller-manager')).spec).toMatchObject({ leaseTransitions: 1 })
    expect((await leases.get('kube-controller-manager')).spec.holderIdentity).toMatch(/^b_/)
    other.abort(new Error('stop'))
    await clock.settle()
    await second
    expect(clock.timerCount()).toBe(0)
    expect(api.openWatches).toBe(0)
  })

  it('first does what a new cluster needs to take a Pod, whatever holds that up', async () => {
    for (const broken of [false, true]) {
      const clock = new VirtualClock()
      const random = seededRandom(3)
      const api = new FakeApi(clock, random)
      const client = createClient(api, { clock })
      await client.resource(resources.corev1.namespaces).create({ metadata: { name: 'team' }, status: { phase: 'Active' } } as never)
      const paths: string[] = []
      api.intercept = (method, path) => {
        paths.push(`${method} ${path.split('?')[0]}`)
        if (broken && path.startsWith('/api/v1/nodes')) throw new Error('no nodes')
      }
      const stop = new AbortController()
      const run = runControllerManager({ client, clock, random, log: silentLogger(), signal: stop.signal, options: { hostname: 'a', rootCA: 'PEM' } })
      await clock.advance(broken ? 900 : 10)
      const replicaSets = paths.indexOf('GET /apis/apps/v1/replicasets')
      if (broken) expect(replicaSets).toBe(-1)
      else expect(replicaSets).toBeGreaterThan(paths.indexOf('POST /api/v1/namespaces/team/serviceaccounts'))
      expect(paths).toContain('POST /api/v1/namespaces/team/serviceaccounts')
      await clock.advance(200)
      expect(paths).toContain('GET /apis/apps/v1/replicasets')
      stop.abort(new Error('stop'))
      await clock.settle()
      await run
      expect(clock.timerCount()).toBe(0)
    }
  })

  it('ends with an error when its lease is lost', async () => {
    const clock = new VirtualClock()
    const random = seededRandom(3)
    const api = new FakeApi(clock, random)
    const client = createClient(api, { clock })
    const stop = new AbortController()
    let ended: unknown
    const run = runControllerManager({ client, clock, random, log: silentLogger(), signal: stop.signal, options: { hostname: 'a', rootCA: 'PEM' } }).then(
      () => (ended = 'resolved'),
      (error: Error) => (ended = error.message),
    )
    await clock.advance(3_000)
    const leases = client.resource(resources.coordinationv1.leases).namespace('kube-system')
    const lease = await leases.get('kube-controller-manager')
    await leases.update({ ...lease, spec: { ...lease.spec, holderIdentity: 'thief', renewTime: '2026-01-01T00:01:00.000000Z' } } as never)
    await clock.advance(20_000)
    expect(ended).toBe('leaderelection lost')
    await run
    expect(clock.timerCount()).toBe(0)
    expect(api.openWatches).toBe(0)
  })

  it('reads --controllers as the original does', () => {
    const find = (name: string) => controllers.find((c) => c.name === name) as (typeof controllers)[number]
    expect(isControllerEnabled(find('deployment-controller'), ['*'])).toBe(true)
    expect(isControllerEnabled(find('deployment-controller'), ['*', '-deployment'])).toBe(false)
    expect(isControllerEnabled(find('deployment-controller'), ['deployment'])).toBe(true)
    expect(isControllerEnabled(find('namespace-controller'), ['deployment'])).toBe(false)
    expect(isControllerEnabled({ name: 'x', aliases: [], onByDefault: false }, ['*'])).toBe(false)
  })
})
