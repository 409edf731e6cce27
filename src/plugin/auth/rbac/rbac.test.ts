import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { rbacv1 } from '../../../api/index.ts'
import type { StatusError } from '../../../apimachinery/errors.ts'
import type { KubeObject } from '../../../apimachinery/object.ts'
import type { UserInfo } from '../../../apiserver/authentication/authenticator.ts'
import type { Attributes } from '../../../apiserver/authorization/authorizer.ts'
import { covers, escalationGuard, type PolicyRule, RuleResolver, rbacAuthorizer, ruleAllows } from './index.ts'

const user = (name: string, ...groups: string[]): UserInfo => ({ name, groups })
const ask = (who: UserInfo, verb: string, resource: string, rest: Partial<Attributes> = {}): Attributes => ({
  user: who,
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
})

function rbac(objects: { roles?: object; clusterRoles?: object; roleBindings?: rbacv1.RoleBinding[]; clusterRoleBindings?: rbacv1.ClusterRoleBinding[] }) {
  const from = (table: object | undefined) => ({ get: (key: string) => (table as Record<string, never> | undefined)?.[key] })
  const resolver = new RuleResolver({
    roles: from(objects.roles),
    clusterRoles: from(objects.clusterRoles),
    roleBindings: { inNamespace: (ns) => (objects.roleBindings ?? []).filter((b) => b.metadata.namespace === ns) },
    clusterRoleBindings: { list: () => objects.clusterRoleBindings ?? [] },
  })
  return { resolver, authorizer: rbacAuthorizer(resolver) }
}
const binding = (name: string, roleRef: string, ...subjects: Partial<rbacv1.Subject>[]) => {
  const [kind, role] = roleRef.split('/') as [string, string]
  return { metadata: { name, namespace: 'ns' }, roleRef: { apiGroup: '', kind, name: role }, subjects } as rbacv1.RoleBinding
}

const given = rbac({
  roles: {
    'ns/given': {
      rules: [
        { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods', 'pods/log'] },
        { verbs: ['delete'], apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'] },
        { verbs: ['*'], apiGroups: ['apps'], resources: ['*'] },
      ],
    },
  },
  clusterRoles: { disc: { rules: [{ verbs: ['get'], nonResourceURLs: ['/api', '/apis/*'] }] } },
  roleBindings: [
    binding('given', 'Role/given', { kind: 'User', name: 'ann' }, { kind: 'ServiceAccount', name: 'bot' }),
    binding('lost', 'Role/gone', { kind: 'Group', name: 'g' }),
  ],
  clusterRoleBindings: [binding('d', 'ClusterRole/disc', { kind: 'Group', name: 'system:authenticated' })],
})

test('decisions and their reasons', () => {
  const { authorizer } = given
  const allowed = 'RBAC: allowed by RoleBinding "given/ns" of Role "given" to User "ann"'
  const rows: [Attributes, unknown][] = [
    [ask(user('ann'), 'get', 'pods'), { decision: 'allow', reason: allowed }],
    [ask(user('ann'), 'get', 'pods', { subresource: 'log', name: 'p' }), { decision: 'allow', reason: allowed }],
    [ask(user('ann'), 'get', 'pods', { subresource: 'exec' }), { decision: 'noOpinion' }],
    [ask(user('ann'), 'delete', 'secrets', { name: 'mine' }), { decision: 'allow', reason: allowed }],
    [ask(user('ann'), 'delete', 'secrets'), { decision: 'noOpinion' }],
    [ask(user('ann'), 'zap', 'whatever', { apiGroup: 'apps' }), { decision: 'allow', reason: allowed }],
    [ask(user('ann'), 'get', 'pods', { namespace: '' }), { decision: 'noOpinion' }],
    [ask(user('ann'), 'get', 'pods', { namespace: 'other' }), { decision: 'noOpinion' }],
    [
      ask(user('system:serviceaccount:ns:bot'), 'get', 'pods'),
      { decision: 'allow', reason: 'RBAC: allowed by RoleBinding "given/ns" of Role "given" to ServiceAccount "bot/ns"' },
    ],
    [ask(user('z', 'g'), 'get', 'pods'), { decision: 'noOpinion', reason: 'RBAC: role.rbac.authorization.k8s.io "gone" not found' }],
    [
      ask(user('z', 'system:authenticated'), 'get', '', { resourceRequest: false, namespace: '', path: '/apis/x' }),
      { decision: 'allow', reason: 'RBAC: allowed by ClusterRoleBinding "d" of ClusterRole "disc" to Group "system:authenticated"' },
    ],
    [ask(user('z', 'system:authenticated'), 'get', '', { resourceRequest: false, namespace: '', path: '/apisx' }), { decision: 'noOpinion' }],
  ]
  for (const [attributes, want] of rows) expect(authorizer.authorize(attributes), JSON.stringify(attributes)).toEqual(want)
})

test('no name can pass for another user with other groups', () => {
  const { authorizer } = given
  expect(authorizer.authorize(ask(user('z', 'g'), 'get', 'pods')).reason).toBeDefined()
  expect(authorizer.authorize(ask(user('z\ng'), 'get', 'pods')).reason).toBeUndefined()
  expect(authorizer.authorize(ask(user('z","g'), 'get', 'pods')).reason).toBeUndefined()
})

test('a changed binding counts after invalidate', () => {
  const bindings: rbacv1.RoleBinding[] = []
  const r = rbac({ roles: { 'ns/r': { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] } }, roleBindings: bindings })
  expect(r.authorizer.authorize(ask(user('a'), 'get', 'pods')).decision).toBe('noOpinion')
  bindings.push(binding('b', 'Role/r', { kind: 'User', name: 'a' }))
  r.resolver.invalidate()
  expect(r.authorizer.authorize(ask(user('a'), 'get', 'pods')).decision).toBe('allow')
})

const words = (...w: string[]) => fc.uniqueArray(fc.constantFrom(...w), { minLength: 1, maxLength: 3 })
const rule: fc.Arbitrary<PolicyRule> = fc.oneof(
  fc
    .record({
      verbs: words('get', 'list', '*'),
      apiGroups: words('', 'apps', '*'),
      resources: words('pods', 'pods/log', '*/log', 'pods/*', '*'),
      resourceNames: fc.option(words('a', 'b'), { nil: undefined }),
    })
    .map(({ resourceNames, ...r }) => (resourceNames ? { ...r, resourceNames } : r)),
  fc.record({ verbs: words('get', 'post', '*'), nonResourceURLs: words('/a', '/a/*', '/a/b', '*') }),
)
const request = fc.record({
  verb: fc.constantFrom('get', 'list', 'post'),
  resourceRequest: fc.boolean(),
  apiGroup: fc.constantFrom('', 'apps'),
  resource: fc.constantFrom('pods', 'nodes'),
  subresource: fc.constantFrom('', 'log', 'exec'),
  name: fc.constantFrom('', 'a', 'b', 'c'),
  path: fc.constantFrom('/a', '/a/b', '/c'),
})

test('rules that are covered never allow more than their owner (property)', () => {
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 4 }), fc.array(rule, { maxLength: 2 }), request, (owner, servant, r) => {
      const { covered, missing } = covers(owner, servant)
      const attributes = ask(user('x'), '', '', r)
      const allows = (rules: PolicyRule[]) => rules.some((one) => ruleAllows(one, attributes))
      if (covered && allows(servant)) expect(allows(owner)).toBe(true)
      expect(covers([...owner, ...missing], servant).covered).toBe(true)
      expect(covers(servant, servant).covered).toBe(true)
    }),
    { numRuns: 2000 },
  )
})

test('escalation is refused in the words of the original', () => {
  const r = rbac({
    roles: {
      'ns/given': { rules: [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['pods', 'configmaps'] }] },
      'ns/strong': { rules: [{ verbs: ['delete'], apiGroups: [''], resources: ['pods'] }] },
    },
    clusterRoles: {
      'cluster-admin': {
        rules: [
          { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
          { verbs: ['*'], nonResourceURLs: ['*'] },
        ],
      },
    },
    roleBindings: [binding('given', 'Role/given', { kind: 'User', name: 'adm' })],
  })
  const guard = escalationGuard(r.resolver, (a) => r.authorizer.authorize(a))
  const adm = user('adm', 'system:authenticated')
  const message = (fn: () => void) => {
    try {
      fn()
      return 'allowed'
    } catch (error) {
      return (error as StatusError).message
    }
  }
  const role = (...rules: PolicyRule[]) => ({ metadata: { name: 'no' }, rules }) as KubeObject
  const head =
    'roles.rbac.authorization.k8s.io "no" is forbidden: user "adm" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'
  const check = (...rules: PolicyRule[]) => message(() => guard.checkRole(role(...rules), undefined, adm, 'ns'))
  expect(check({ verbs: ['get'], apiGroups: [''], resources: ['pods'] })).toBe('allowed')
  expect(check({ verbs: ['get', 'delete'], apiGroups: [''], resources: ['pods'] })).toBe(`${head}{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}`)
  expect(
    check(
      { verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: ['a'] },
      { verbs: ['patch'], apiGroups: ['apps', 'batch'], resources: ['deployments', 'deployments/scale'] },
    ),
  ).toBe(
    `${head}{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get"]}\n{APIGroups:["apps"], Resources:["deployments"], Verbs:["patch"]}\n{APIGroups:["apps"], Resources:["deployments/scale"], Verbs:["patch"]}\n{APIGroups:["batch"], Resources:["deployments"], Verbs:["patch"]}\n{APIGroups:["batch"], Resources:["deployments/scale"], Verbs:["patch"]}`,
  )
  const bind = (ref: string) => message(() => guard.checkBinding(binding('s', ref), undefined, adm, 'ns'))
  const bindHead = head.replace('roles.', 'rolebindings.').replace('"no"', '"s"')
  expect(bind('Role/given')).toBe('allowed')
  expect(bind('Role/strong')).toBe(`${bindHead}{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}`)
  expect(bind('ClusterRole/cluster-admin')).toBe(`${bindHead}{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}`)
  expect(bind('Role/missing')).toBe('rolebindings.rbac.authorization.k8s.io "missing" not found')
  const before = role({ verbs: ['delete'], apiGroups: [''], resources: ['pods'] })
  expect(message(() => guard.checkRole({ ...before, metadata: { name: 'no', finalizers: ['x'] } }, before, adm, 'ns'))).toBe('allowed')
  expect(message(() => guard.checkRole({ ...before, metadata: { name: 'no', labels: { a: 'b' } } }, before, adm, 'ns'))).toContain('is attempting')
})
