import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type corev1, resources } from '../../api/index.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import type { AdmissionAttributes } from '../../apiserver/admission/admission.ts'
import { seededRandom, VirtualClock } from '../../base/index.ts'
import { createClient, InformerFactory } from '../../client/index.ts'
import type { Logger } from '../../component-base/component.ts'
import { FakeApi } from '../../testing/fake-api.ts'
import { goldenFolder } from '../../testing/golden.ts'
import { resourceQuota } from './resource-quota.ts'

const quiet: Logger = { error: () => {}, warn: () => {}, info: () => {}, v: () => quiet, with: () => quiet }

async function server() {
  const clock = new VirtualClock()
  const random = seededRandom(1)
  const client = createClient(new FakeApi(clock, random))
  const informers = new InformerFactory({ client, clock, random, log: quiet })
  const plugin = resourceQuota({ client, informers, clock, random, isEnabled: () => true, authorize: () => ({ decision: 'noOpinion' }) })
  const stop = new AbortController()
  informers.start(stop.signal)
  await informers.waitForSync()
  const quotas = client.resource(resources.corev1.resourcequotas).namespace('ns')
  const lister = informers.informer(resources.corev1.resourcequotas).lister
  return {
    quotas,
    stop: () => stop.abort(),
    /** A quota as the controller leaves it. */
    async quota(name: string, spec: corev1.ResourceQuotaSpec) {
      const made = await quotas.create({ metadata: { name, namespace: 'ns' }, spec } as unknown as corev1.ResourceQuota)
      const used = Object.fromEntries(Object.keys(spec.hard ?? {}).map((n) => [n, '0']))
      await quotas.updateStatus({ ...made, status: { hard: spec.hard ?? {}, used } } as corev1.ResourceQuota)
      while (!lister.get(`ns/${name}`)?.status?.used) await new Promise((resolve) => setImmediate(resolve))
    },
    async write(resource: string, object: KubeObject, rest: Partial<AdmissionAttributes> = {}): Promise<string> {
      const attributes = {
        operation: 'CREATE',
        resource: { group: '', version: 'v1', resource },
        subresource: '',
        namespace: 'ns',
        name: object.metadata.name,
        object,
        user: { name: 'u', groups: [] },
        dryRun: false,
        ...rest,
      } as unknown as AdmissionAttributes
      return Promise.resolve(plugin.validate?.(attributes)).then(
        () => 'admitted',
        (e: Error) => e.message,
      )
    },
  }
}

const golden = goldenFolder('recorded')

/** Only what is charged on the way in: what objects give back when they go is the controller's to notice. */
const names = [
  'pods-and-compute',
  'object-counts',
  'services',
  'persistentvolumeclaims',
  'scope-besteffort',
  'scope-priorityclass',
  'two-quotas-both-named',
  'extended-and-hugepages',
]

describe.skipIf(!golden)('charged and refused as recorded', () => {
  interface Step {
    do?: string
    body?: KubeObject & { spec?: { type?: string; containers?: { resources?: Record<string, object> }[] } }
    want?: { status: number; body?: Record<string, unknown> }
  }
  const scenarios = golden ? (JSON.parse(readFileSync(join(golden, 'cluster-quota.json'), 'utf8')) as { name: string; steps: Step[] }[]) : []
  test.each(names)('%s', async (name) => {
    const s = await server()
    let refusals = 0
    for (const { do: request = '', body, want } of scenarios.find((x) => x.name === `cluster/quota/${name}`)?.steps ?? []) {
      if (request.startsWith('DELETE')) break
      const resource = request.split('/').at(-1) ?? ''
      if (!request.startsWith('POST') || !body || !want) continue
      if (resource === 'resourcequotas') {
        await s.quota(body.metadata.name ?? '', body.spec as corev1.ResourceQuotaSpec)
        continue
      }
      if (!['pods', 'services', 'secrets', 'configmaps', 'persistentvolumeclaims'].includes(resource)) continue
      for (const c of body.spec?.containers ?? [])
        if (c.resources?.['limits']) c.resources['requests'] = { ...c.resources['limits'], ...c.resources['requests'] }
      const got = await s.write(resource, { spec: {}, ...body } as KubeObject)
      if (want.status === 403) {
        refusals++
        const message = want.body?.['message'] ?? want.body?.['/message']
        if (message === undefined) expect(got).toContain('is forbidden: exceeded quota: ')
        else expect(got).toBe(message)
      } else expect(got, JSON.stringify(body)).toBe('admitted')
    }
    expect(refusals).toBeGreaterThan(0)
    s.stop()
  })
})

const configMap = (name: string) => ({ metadata: { name } }) as KubeObject

test('of many at once no more pass than there is room for', async () => {
  const s = await server()
  await s.quota('q', { hard: { configmaps: '3' } } as never)
  const results = await Promise.all(Array.from({ length: 10 }, (_, i) => s.write('configmaps', configMap(`c${i}`))))
  expect(results.filter((r) => r === 'admitted').length).toBe(3)
  expect((await s.quotas.get('q')).status?.used).toEqual({ configmaps: '3' })
  s.stop()
})

test('a dry run is checked and not charged', async () => {
  const s = await server()
  await s.quota('q', { hard: { configmaps: '1' } } as never)
  expect(await s.write('configmaps', configMap('a'), { dryRun: true })).toBe('admitted')
  expect((await s.quotas.get('q')).status?.used).toEqual({ configmaps: '0' })
  await s.write('configmaps', configMap('a'))
  expect(await s.write('configmaps', configMap('b'), { dryRun: true })).toContain('exceeded quota')
  s.stop()
})
