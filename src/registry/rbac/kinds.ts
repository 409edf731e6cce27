import type { rbacv1 } from '../../api/index.ts'
import type { EscalationGuard } from '../../apiserver/authorization/escalation.ts'
import type { KindRegistration, Strategy } from '../../apiserver/registry/strategy.ts'
import { defaultBinding, RBAC_GROUP, validateBinding, validateRoleRefUnchanged } from './binding-validation.ts'
import { bindingColumns } from './columns.ts'
import { validateAggregationRule, validateRules } from './rule-validation.ts'

/**
 * Roles and bindings. Names are path segments and may be nearly anything; a PUT makes what is not there.
 * @param guard refuses writes that give more than the writer has; without one (no authorization) everybody may write what they like
 */
export function rbacKinds(guard?: EscalationGuard): KindRegistration[] {
  const kind = (name: string, resource: string) => ({ group: RBAC_GROUP, resource, storage: { group: RBAC_GROUP, version: 'v1', kind: name } })
  return [
    { ...kind('Role', 'roles'), strategy: roleStrategy(true, guard) },
    { ...kind('ClusterRole', 'clusterroles'), strategy: roleStrategy(false, guard) },
    { ...kind('RoleBinding', 'rolebindings'), strategy: bindingStrategy(true, guard), columns: bindingColumns },
    { ...kind('ClusterRoleBinding', 'clusterrolebindings'), strategy: bindingStrategy(false, guard), columns: bindingColumns },
  ] as unknown as KindRegistration[]
}

const common = { nameRule: 'pathSegment', allowCreateOnUpdate: true, allowUnconditionalUpdate: true, generation: 'none' } as const

function roleStrategy(namespaced: boolean, guard: EscalationGuard | undefined): Strategy<rbacv1.ClusterRole> {
  const validate = (role: rbacv1.ClusterRole) => [...validateRules(role.rules, namespaced), ...validateAggregationRule(role.aggregationRule)]
  return {
    ...common,
    prepareForCreate(role, { user, namespace }) {
      if (user) guard?.checkRole(role, undefined, user, namespace)
    },
    prepareForUpdate(role, old, { user, namespace }) {
      if (user) guard?.checkRole(role, old, user, namespace)
    },
    validate,
    validateUpdate: validate,
    canonicalize(role) {
      if (role.rules?.length === 0) role.rules = null as unknown as rbacv1.PolicyRule[]
    },
  }
}

function bindingStrategy(namespaced: boolean, guard: EscalationGuard | undefined): Strategy<rbacv1.RoleBinding> {
  return {
    ...common,
    defaults: defaultBinding,
    prepareForCreate(binding, { user, namespace }) {
      if (user) guard?.checkBinding(binding, undefined, user, namespace)
    },
    prepareForUpdate(binding, old, { user, namespace }) {
      if (user) guard?.checkBinding(binding, old, user, namespace)
    },
    validate: (binding) => validateBinding(binding, namespaced),
    validateUpdate: (binding, old) => [...validateBinding(binding, namespaced), ...validateRoleRefUnchanged(binding, old)],
  }
}
