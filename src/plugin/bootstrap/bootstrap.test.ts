import { expect, test } from 'vitest'
import { type rbacv1, resources } from '../../api/index.ts'
import { seededRandom, VirtualClock } from '../../base/index.ts'
import { createClient } from '../../client/index.ts'
import type { Logger } from '../../component-base/component.ts'
import { createFeatureGates } from '../../component-base/featuregate/feature-gates.ts'
import { FakeApi } from '../../testing/fake-api.ts'
import { defaultPolicy } from '../auth/rbac/bootstrap-policy.ts'
import { reconcileBinding, reconcileRole } from '../auth/rbac/reconcile.ts'
import { bootstrapHooks } from './index.ts'

const gates = createFeatureGates()
const policy = defaultPolicy((g) => gates.enabled(g))

test('the default policy has the objects of a fresh cluster', () => {
  expect([policy.clusterRoles.length, policy.clusterRoleBindings.length, policy.roles.length, policy.roleBindings.length]).toEqual([69, 50, 7, 7])
  expect(JSON.stringify(policy)).not.toContain('x-gate')
  const admin = policy.clusterRoles.find((r) => r.metadata.name === 'cluster-admin')
  expect(admin?.metadata.annotations).toEqual({ 'rbac.authorization.kubernetes.io/autoupdate': 'true' })
  expect(defaultPolicy(() => true).clusterRoles.length).toBe(76)
})

const role = (name: string, rest: object) => ({ metadata: { name }, rules: [], ...rest }) as unknown as rbacv1.ClusterRole

test('roles get what they lack and keep what they have', () => {
  const want = role('r', { metadata: { name: 'r', labels: { a: '1' } }, rules: [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] }] })
  const have = role('r', { metadata: { name: 'r', labels: { a: 'own' } }, rules: [{ verbs: ['get', 'watch'], apiGroups: [''], resources: ['*'] }] })
  expect(reconcileRole(want, have)).toMatchObject({
    action: 'update',
    object: { metadata: { labels: { a: 'own' } }, rules: [have.rules[0], { verbs: ['list'], apiGroups: [''], resources: ['pods'] }] },
  })
  expect(reconcileRole(want, want).action).toBe('keep')
  const guarded = { ...have, metadata: { name: 'r', annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'false' } } } as rbacv1.ClusterRole
  expect(reconcileRole(want, guarded).action).toBe('protected')
  expect(reconcileRole(role('r', {}), role('r', { aggregationRule: { clusterRoleSelectors: [{}] } }))).toMatchObject({
    action: 'update',
    object: { rules: [] },
  })
})

test('bindings get subjects; another role makes them anew', () => {
  const binding = (roleName: string, ...subjects: object[]) =>
    ({ metadata: { name: 'b' }, roleRef: { apiGroup: '', kind: 'ClusterRole', name: roleName }, subjects }) as unknown as rbacv1.RoleBinding
  const a = { kind: 'User', name: 'a' }
  const b = { kind: 'User', name: 'b' }
  expect(reconcileBinding(binding('x', a), binding('x', b))).toMatchObject({ action: 'update', object: { subjects: [b, a] } })
  expect(reconcileBinding(binding('x', a), binding('x', a, b)).action).toBe('keep')
  expect(reconcileBinding(binding('x', a), binding('y', a)).action).toBe('recreate')
})

const quiet: Logger = { error: () => {}, warn: () => {}, info: () => {}, v: () => quiet, with: () => quiet }

test('a new server fills an empty cluster, and a second start changes nothing', async () => {
  const clock = new VirtualClock()
  const api = new FakeApi(clock, seededRandom(1))
  const client = createClient(api)
  const options = {
    client,
    clock,
    log: quiet,
    isEnabled: (g: string) => gates.enabled(g),
    authentication: { clientCa: '', requestHeader: { clientCa: '', allowedNames: ['front-proxy-client'] } },
    service: { clusterIP: '10.96.0.1', advertiseAddress: '192.0.2.1', securePort: 6443 },
  }
  const start = async () => {
    const stop = new AbortController()
    await Promise.all(bootstrapHooks(options).map((hook) => hook.run(stop.signal)))
    stop.abort()
  }
  await start()
  const names = async (handle: Parameters<typeof client.resource>[0]) => (await client.resource(handle).list()).items.map((o) => o.metadata.name)
  expect((await names(resources.corev1.namespaces)).sort()).toEqual(['default', 'kube-node-lease', 'kube-public', 'kube-system'])
  expect((await names(resources.rbacv1.clusterroles)).length).toBe(69)
  expect((await names(resources.rbacv1.rolebindings)).length).toBe(7)
  expect((await names(resources.flowcontrolv1.flowschemas)).length).toBe(11)
  expect(await names(resources.flowcontrolv1.prioritylevelconfigurations)).toContain('catch-all')
  expect(await names(resources.schedulingv1.priorityclasses)).toContain('system-node-critical')
  const info = await client.resource(resources.corev1.configmaps).namespace('kube-system').get('extension-apiserver-authentication')
  expect(info.data?.['requestheader-allowed-names']).toBe('["front-proxy-client"]')
  const slice = await client.resource(resources.discoveryv1.endpointslices).namespace('default').get('kubernetes')
  expect(slice.endpoints[0]?.addresses).toEqual(['192.0.2.1'])
  const writes = () => api.requests.filter((r) => r.method === 'PUT').length
  expect(writes()).toBe(0)
  await client.resource(resources.rbacv1.clusterrolebindings).delete('system:discovery')
  await start()
  expect(writes()).toBe(0)
  expect(await names(resources.rbacv1.clusterrolebindings)).toContain('system:discovery')
})
