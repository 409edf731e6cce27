import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { corev1 } from '../../../api/index.ts'
import type { Attributes } from '../../../apiserver/authorization/authorizer.ts'
import { forbiddenError } from '../../../apiserver/authorization/refusal.ts'
import { IndexedStore, NODE_NAME_INDEX } from '../../../client/cache/store.ts'
import { createFeatureGates } from '../../../component-base/featuregate/feature-gates.ts'
import { goldenFolder } from '../../../testing/golden.ts'
import { NodeGraph, nodeAuthorizer } from './index.ts'

const gates = createFeatureGates()

function node(...pods: object[]) {
  const store = new IndexedStore<corev1.Pod>()
  store.addIndex(NODE_NAME_INDEX, (p) => [p.spec.nodeName ?? ''])
  for (const [i, spec] of pods.entries()) {
    const { annotations, ...rest } = spec as { annotations?: Record<string, string> }
    store.set({ metadata: { name: `p${i}`, namespace: 'ns', annotations }, spec: { containers: [], nodeName: 'n1', ...rest } } as unknown as corev1.Pod)
  }
  const of = (objects: Record<string, object>) => ({ get: (key: string) => objects[key] as never })
  const graph = new NodeGraph({
    pods: store,
    claims: of({ 'ns/data': { spec: { volumeName: 'pv1' } }, 'ns/stolen': { spec: { volumeName: 'pv2' } } }),
    volumes: of({
      pv1: {
        metadata: { name: 'pv1' },
        spec: { claimRef: { namespace: 'ns', name: 'data' }, csi: { nodeStageSecretRef: { name: 'stage', namespace: 'csi' } } },
      },
      pv2: { metadata: { name: 'pv2' }, spec: { claimRef: { namespace: 'other', name: 'theirs' } } },
    }),
    attachments: of({ va: { spec: { nodeName: 'n1' } } }),
    slices: of({}),
  })
  const authorizer = nodeAuthorizer(graph, (g) => gates.enabled(g))
  return (verb: string, resource: string, rest: Partial<Attributes> = {}) =>
    authorizer.authorize({
      user: { name: 'system:node:n1', groups: ['system:nodes'] },
      verb,
      resourceRequest: true,
      namespace: 'ns',
      apiGroup: '',
      apiVersion: 'v1',
      resource,
      subresource: '',
      name: '',
      path: '',
      ...rest,
    }).decision
}

test('a node reads what its Pods need and no more', () => {
  const can = node(
    {
      serviceAccountName: 'sa',
      volumes: [
        { name: 'a', secret: { secretName: 's1' } },
        { name: 'd', persistentVolumeClaim: { claimName: 'data' } },
      ],
    },
    { containers: [{ name: 'c', env: [{ name: 'E', valueFrom: { configMapKeyRef: { name: 'c1' } } }] }], imagePullSecrets: [{ name: 'pull' }] },
    { nodeName: 'n2', volumes: [{ name: 'a', secret: { secretName: 's2' } }] },
    {
      annotations: { 'kubernetes.io/config.mirror': 'x' },
      volumes: [
        { name: 'a', secret: { secretName: 'mirrored' } },
        { name: 'x', persistentVolumeClaim: { claimName: 'stolen' } },
      ],
    },
    { volumes: [{ name: 'x', persistentVolumeClaim: { claimName: 'stolen' } }] },
  )
  const get = (resource: string, name: string, rest: Partial<Attributes> = {}) => can('get', resource, { name, ...rest })
  expect(['s1', 'pull', 's2', 'mirrored', 'other'].map((s) => get('secrets', s))).toEqual(['allow', 'allow', 'noOpinion', 'noOpinion', 'noOpinion'])
  expect(get('secrets', 's1', { namespace: 'other' })).toBe('noOpinion')
  expect(get('secrets', 'stage', { namespace: 'csi' })).toBe('allow')
  expect(get('configmaps', 'c1')).toBe('allow')
  expect(get('persistentvolumeclaims', 'data')).toBe('allow')
  expect([get('persistentvolumes', 'pv1', { namespace: '' }), get('persistentvolumes', 'pv2', { namespace: '' })]).toEqual(['allow', 'noOpinion'])
  expect(get('volumeattachments', 'va', { namespace: '', apiGroup: 'storage.k8s.io' })).toBe('allow')
  expect(can('create', 'serviceaccounts', { name: 'sa', subresource: 'token' })).toBe('allow')
  expect(can('create', 'serviceaccounts', { name: 'boss', subresource: 'token' })).toBe('noOpinion')
  expect(can('list', 'secrets', { name: 's1' })).toBe('allow')
  expect(can('update', 'secrets', { name: 's1' })).toBe('noOpinion')
})

test('a node sees its own Node, Pods and Lease', () => {
  const can = node({}, { nodeName: 'n2' })
  expect([can('get', 'pods', { name: 'p0' }), can('get', 'pods', { name: 'p1' })]).toEqual(['allow', 'noOpinion'])
  expect([can('list', 'pods', { fieldSelector: 'spec.nodeName=n1' }), can('list', 'pods', { fieldSelector: 'spec.nodeName!=n1' })]).toEqual([
    'allow',
    'noOpinion',
  ])
  expect([can('get', 'nodes', { name: 'n1' }), can('get', 'nodes', { name: 'n2' }), can('list', 'nodes')]).toEqual(['allow', 'noOpinion', 'noOpinion'])
  const lease = { apiGroup: 'coordination.k8s.io', namespace: 'kube-node-lease' }
  expect([can('update', 'leases', { ...lease, name: 'n1' }), can('update', 'leases', { ...lease, name: 'n2' })]).toEqual(['allow', 'noOpinion'])
  expect(can('create', 'events', { apiGroup: 'events.k8s.io' })).toBe('allow')
  expect(can('create', 'namespaces')).toBe('noOpinion')
})

const golden = goldenFolder('recorded')

describe.skipIf(!golden)('recorded refusals', () => {
  interface Step {
    do?: string
    want?: { status: number; body?: { message?: string } }
  }
  const scenarios = golden ? (JSON.parse(readFileSync(join(golden, 'groups-authz.json'), 'utf8')) as { name: string; steps: Step[] }[]) : []
  const steps = scenarios.find((s) => s.name === 'authz/refusals/node')?.steps ?? []
  const verbs: Readonly<Record<string, string>> = { GET: 'get', POST: 'create', DELETE: 'delete' }
  // The refusal of POST nodes is admission's.
  test.each(steps.filter((s) => s.want?.status === 403 && s.do !== 'POST /api/v1/nodes').map((s) => [s.do as string, s] as const))('%s', (request, step) => {
    const [method = '', path = ''] = request.split(' ')
    const parts = path.split('/').slice(1)
    const [apiGroup, rest] = parts[0] === 'api' ? ['', parts.slice(2)] : [parts[1] as string, parts.slice(3)]
    const namespaced = rest[0] === 'namespaces' && rest.length > 2
    const [resource = '', name = '', subresource = ''] = namespaced ? rest.slice(2) : rest
    const verb = method === 'GET' && name === '' ? 'list' : (verbs[method] as string)
    const attributes: Attributes = {
      user: { name: 'system:node:edge-{id}', groups: ['system:nodes', 'system:authenticated'] },
      verb,
      resourceRequest: true,
      namespace: namespaced ? (rest[1] as string) : '',
      apiGroup,
      apiVersion: 'v1',
      resource,
      subresource,
      name,
      path: '',
    }
    const store = new IndexedStore<corev1.Pod>()
    store.addIndex(NODE_NAME_INDEX, () => [])
    const nothing = { get: () => undefined }
    const authorizer = nodeAuthorizer(new NodeGraph({ pods: store, claims: nothing, volumes: nothing, attachments: nothing, slices: nothing }), (g) =>
      gates.enabled(g),
    )
    const { decision, reason } = authorizer.authorize(attributes)
    expect(decision).toBe('noOpinion')
    expect(forbiddenError(attributes, reason).message).toBe(step.want?.body?.message)
  })
})
