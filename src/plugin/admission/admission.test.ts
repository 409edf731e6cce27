import { setMaxListeners } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { resources } from '../../api/index.ts'
import { StatusError } from '../../apimachinery/errors.ts'
import type { KubeObject, ResourceHandle } from '../../apimachinery/object.ts'
import type { AdmissionAttributes } from '../../apiserver/admission/admission.ts'
import { deepCopy, seededRandom, VirtualClock } from '../../base/index.ts'
import { createClient, InformerFactory } from '../../client/index.ts'
import type { Logger } from '../../component-base/component.ts'
import { FakeApi } from '../../testing/fake-api.ts'
import { goldenFolder } from '../../testing/golden.ts'
import { admissionPlugins } from './index.ts'

const quiet: Logger = { error: () => {}, warn: () => {}, info: () => {}, v: () => quiet, with: () => quiet }
const stops: AbortController[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort()
})

async function server(...objects: (KubeObject & { kind: string })[]) {
  const clock = new VirtualClock()
  const random = seededRandom(1)
  const client = createClient(new FakeApi(clock, random))
  const handles = Object.values(resources).flatMap((group) => Object.values(group)) as ResourceHandle[]
  const defaults = [
    { kind: 'Namespace', metadata: { name: 'ns' } },
    { kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'ns' } },
  ]
  for (const object of [...defaults, ...objects]) {
    const handle = handles.find((h) => h.kind === object.kind) as ResourceHandle
    await client.resource(handle).namespace(object.metadata.namespace).create(deepCopy(object))
  }
  const informers = new InformerFactory({ client, clock, random, log: quiet })
  const plugins = admissionPlugins({ client, informers, clock, random, isEnabled: () => true, authorize: () => ({ decision: 'noOpinion' }) })
  const stop = new AbortController()
  stops.push(stop)
  setMaxListeners(0, stop.signal)
  informers.start(stop.signal)
  await informers.waitForSync(stop.signal)
  const write = async (init: Partial<AdmissionAttributes> & { object?: KubeObject }) => {
    const attributes = {
      operation: 'CREATE',
      resource: { group: '', version: 'v1', resource: 'pods' },
      subresource: '',
      namespace: 'ns',
      name: init.object?.metadata.name ?? '',
      user: { name: 'u', groups: [] },
      dryRun: false,
      annotate: () => {},
      warn: () => {},
      ...init,
    } as unknown as AdmissionAttributes
    for (const p of plugins) if (p.handles(attributes.operation)) await p.admit?.(attributes)
    for (const p of plugins) if (p.handles(attributes.operation)) await p.validate?.(attributes)
    return attributes.object as KubeObject & Record<string, never>
  }
  return { client, write, informers }
}
const pod = (spec: object = {}, name = 'p') => ({ metadata: { name }, spec: { containers: [{ name: 'app', image: 'x' }], ...spec } }) as unknown as KubeObject
const text = (work: Promise<unknown>) =>
  work.then(
    () => 'admitted',
    (e: unknown) => (e instanceof StatusError ? e.message : Promise.reject(e)),
  )

test('a plain Pod gets account, token, tolerations and priority', async () => {
  const { write } = await server()
  const { spec } = (await write({ object: pod() })) as unknown as { spec: Record<string, unknown> }
  const name = (spec['volumes'] as { name: string }[])[0]?.name
  expect(name).toMatch(/^kube-api-access-[a-z0-9]{5}$/)
  expect(spec).toMatchObject({
    serviceAccountName: 'default',
    serviceAccount: 'default',
    priority: 0,
    preemptionPolicy: 'PreemptLowerPriority',
    tolerations: [
      { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
    ],
    containers: [{ volumeMounts: [{ name, readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }] }],
    volumes: [
      {
        projected: {
          defaultMode: 420,
          sources: [
            { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
            { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
            { downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] } },
          ],
        },
      },
    ],
  })
})

test('namespaces', async () => {
  const { write, client, informers } = await server()
  const namespacesApi = client.resource(resources.corev1.namespaces)
  const going = await namespacesApi.create({ metadata: { name: 'going' } } as never)
  await namespacesApi.updateStatus({ ...going, status: { phase: 'Terminating' } } as never)
  const { lister } = informers.informer(resources.corev1.namespaces)
  while (lister.get('going')?.status?.phase !== 'Terminating') await new Promise((resolve) => setImmediate(resolve))
  expect(await text(write({ object: pod(), namespace: 'nope' }))).toBe('namespaces "nope" not found')
  expect(await text(write({ object: pod(), namespace: 'going' }))).toBe(
    'pods "p" is forbidden: unable to create new content in namespace going because it is being terminated',
  )
  const namespaces = { resource: { group: '', version: 'v1', resource: 'namespaces' } }
  expect(await text(write({ ...namespaces, operation: 'DELETE', name: 'kube-system', namespace: 'kube-system' }))).toBe(
    'namespaces "kube-system" is forbidden: this namespace may not be deleted',
  )
  // Just made: not in any cache yet.
  await client.resource(resources.corev1.namespaces).create({ metadata: { name: 'new' } } as never)
  await client
    .resource(resources.corev1.serviceaccounts)
    .namespace('new')
    .create({ metadata: { name: 'default', namespace: 'new' } } as never)
  expect(await text(write({ object: pod(), namespace: 'new' }))).toBe('admitted')
})

const golden = goldenFolder('recorded')

interface Limited {
  resources?: Record<string, object>
}

interface Step {
  do?: string
  body?: KubeObject & Record<string, unknown>
  want?: { status: number; body?: Record<string, unknown> }
}

const plurals: Readonly<Record<string, string>> = {
  runtimeclasses: 'RuntimeClass',
  priorityclasses: 'PriorityClass',
  limitranges: 'LimitRange',
  serviceaccounts: 'ServiceAccount',
}

/** Plays the recorded creations of Pods and claims through the chain; what they depend on is made as the original stored it. */
describe.skipIf(!golden)('admitted and refused as recorded', () => {
  const scenarios = ['core-pod-admission.json', 'core-limitrange.json', 'core-serviceaccount.json'].flatMap((file) =>
    (JSON.parse(readFileSync(join(golden, file), 'utf8')) as { name: string; steps: Step[] }[]).map((s) => [s.name, s.steps] as const),
  )
  const ours = /admission\/(runtimeclass|priorityclass|mountable|mirror|default-tolerations)|limitrange\/effect/
  test.each(scenarios.filter(([name]) => ours.test(name)))('%s', async (_name, steps) => {
    const made: (KubeObject & { kind: string })[] = []
    let played = 0
    for (const { do: request = '', body, want } of steps) {
      const [method, path = ''] = request.split(' ')
      const resource = path.split('/').at(-1) ?? ''
      if (method !== 'POST' || !body || !want) continue
      const name = want.body?.['/message'] ?? want.body?.['message']
      if (plurals[resource] && want.status === 201) {
        const kind = plurals[resource]
        const namespaced = path.includes('{ns}')
        made.push({ ...(want.body as object), kind, metadata: { ...body.metadata, ...(namespaced ? { namespace: 'ns' } : {}) } } as never)
      }
      if (resource !== 'pods' && resource !== 'persistentvolumeclaims') continue
      const { write } = await server(...made)
      // Defaults that the schema fills before admission.
      const object = deepCopy(body) as unknown as KubeObject & { spec: { containers?: Limited[]; initContainers?: Limited[] } }
      for (const c of [...(object.spec.containers ?? []), ...(object.spec.initContainers ?? [])])
        if (c.resources?.['limits']) c.resources['requests'] = { ...c.resources['limits'], ...c.resources['requests'] }
      const result = await write({ object, resource: { group: '', version: 'v1', resource } }).catch((e: unknown) => e)
      played++
      if (want.status === 403) expect((result as Error).message).toBe(String(name).replaceAll('{ns}', 'ns'))
      else if (want.status === 422) expect(result).not.toBeInstanceOf(StatusError)
      else {
        if (result instanceof Error) throw result
        const recorded = (want.body?.['spec'] ?? {}) as Record<string, unknown>
        for (const field of ['tolerations', 'priority', 'preemptionPolicy', 'overhead', 'nodeSelector', 'imagePullSecrets', 'serviceAccountName']) {
          if (want.body?.['spec']) expect((result as { spec: Record<string, unknown> }).spec[field], field).toEqual(recorded[field])
        }
        const picked = want.body?.['/metadata/annotations'] as Record<string, string> | null | undefined
        if (picked !== undefined) expect((result as KubeObject).metadata.annotations ?? null).toEqual(picked)
        if (want.body?.['/spec/tolerations']) expect((result as { spec: Record<string, unknown> }).spec['tolerations']).toEqual(want.body['/spec/tolerations'])
      }
    }
    expect(played).toBeGreaterThan(0)
  })
})

test('a Pod without containers is left to validation', async () => {
  const { write } = await server()
  const admitted = (await write({ object: pod({ containers: null }) })) as unknown as { spec: { serviceAccountName: string } }
  expect(admitted.spec.serviceAccountName).toBe('default')
})
