import type { rbacv1 } from '../../../api/index.ts'
import { isNotFound, newForbidden, newNotFound } from '../../../apimachinery/errors.ts'
import { aggregateText } from '../../../apimachinery/field.ts'
import type { KubeObject } from '../../../apimachinery/object.ts'
import { quote } from '../../../apimachinery/quote.ts'
import type { UserInfo } from '../../../apiserver/authentication/authenticator.ts'
import { MASTERS_GROUP } from '../../../apiserver/authentication/groups.ts'
import type { Attributes, Decision } from '../../../apiserver/authorization/authorizer.ts'
import type { EscalationGuard } from '../../../apiserver/authorization/escalation.ts'
import { deepEqual } from '../../../base/index.ts'
import type { RuleResolver } from './resolver.ts'
import { compactRules, covers, type PolicyRule, ruleText } from './rules.ts'

const GROUP = 'rbac.authorization.k8s.io'
const FULL_POWER: PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

/**
 * Nobody may write a role with rules, or bind a role whose rules, they do not hold themselves, unless they have the verb `escalate` on
 * roles, or `bind` on the role. The API server's own users in system:masters pass.
 * @param authorize the whole chain, which must answer synchronously for the verbs escalate and bind
 */
export function escalationGuard(resolver: RuleResolver, authorize: (attributes: Attributes) => Decision | Promise<Decision>): EscalationGuard {
  const allowed = (user: UserInfo, verb: string, resource: string, namespace: string, name: string) => {
    const answer = authorize({ user, verb, resourceRequest: true, namespace, apiGroup: GROUP, apiVersion: 'v1', resource, subresource: '', name, path: '' })
    return !(answer instanceof Promise) && answer.decision === 'allow'
  }
  const confirm = (user: UserInfo, namespace: string, rules: readonly PolicyRule[]): string | undefined => {
    const own = resolver.rulesFor(user, namespace)
    const { covered, missing } = covers(own.rules, rules)
    if (covered) return undefined
    const lines = compactRules(missing).map(ruleText).sort()
    const groups = `[${user.groups.map(quote).join(' ')}]`
    const errors = own.errors.length ? `; resolution errors: ${aggregateText(own.errors.map((e) => e.message)).replace(/^(?!\[)(.*)$/s, '[$1]')}` : ''
    return `user ${quote(user.name)} (groups=${groups}) is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}${errors}`
  }
  return {
    checkRole(role: KubeObject, old: KubeObject | undefined, user, namespace) {
      const kind = namespace === '' ? 'clusterroles' : 'roles'
      const { rules, aggregationRule, metadata } = role as rbacv1.ClusterRole
      const before = old as rbacv1.ClusterRole | undefined
      if (user.groups.includes(MASTERS_GROUP) || allowed(user, 'escalate', kind, namespace, metadata.name ?? '')) return
      if (old && onlyForCollection(role, old)) return
      const resource = { group: GROUP, resource: kind }
      const refusal = confirm(user, namespace, rules ?? [])
      if (refusal) throw newForbidden(resource, metadata.name ?? '', refusal)
      // Selectors may come to select anything, so they ask for everything.
      if ((aggregates(aggregationRule) || aggregates(before?.aggregationRule)) && confirm(user, namespace, FULL_POWER)) {
        throw newForbidden(resource, metadata.name ?? '', 'must have cluster-admin privileges to use the aggregationRule')
      }
    },
    checkBinding(binding: KubeObject, old: KubeObject | undefined, user, namespace) {
      const { roleRef, metadata } = binding as rbacv1.RoleBinding
      if (user.groups.includes(MASTERS_GROUP)) return
      if (old && onlyForCollection(binding, old)) return
      if (allowed(user, 'bind', roleRef.kind === 'ClusterRole' ? 'clusterroles' : 'roles', namespace, roleRef.name)) return
      const resource = { group: GROUP, resource: namespace === '' ? 'clusterrolebindings' : 'rolebindings' }
      let rules: readonly PolicyRule[]
      try {
        rules = resolver.roleRules(roleRef, namespace)
      } catch (error) {
        if (isNotFound(error)) throw newNotFound(resource, roleRef.name)
        throw error
      }
      const refusal = confirm(user, namespace, rules)
      if (refusal) throw newForbidden(resource, metadata.name ?? '', refusal)
    },
  }
}

const aggregates = (rule: rbacv1.AggregationRule | undefined) => (rule?.clusterRoleSelectors?.length ?? 0) > 0

/** Nothing changed but what garbage collection needs to let go of an object. */
function onlyForCollection(object: KubeObject, old: KubeObject): boolean {
  const bare = ({ metadata, ...rest }: KubeObject) => {
    const { ownerReferences: _, finalizers: __, managedFields: ___, resourceVersion: ____, ...kept } = metadata
    return { ...rest, metadata: kept }
  }
  return deepEqual(bare(object), bare(old))
}
