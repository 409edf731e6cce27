import type { rbacv1 } from '../../api/index.ts'
import { type ErrorList, FieldPath, invalid, required } from '../../apimachinery/field.ts'
import { validateLabelSelector } from '../../apimachinery/validation/labels.ts'

/** @param namespaced rules of a Role, which cannot speak of paths */
export function validateRules(rules: readonly rbacv1.PolicyRule[] | null | undefined, namespaced: boolean): ErrorList {
  return (rules ?? []).flatMap((rule, i) => validateRule(rule, namespaced, FieldPath.root('rules').index(i)))
}

function validateRule(rule: rbacv1.PolicyRule, namespaced: boolean, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule
  if (!verbs?.length) errors.push(required(path.child('verbs'), 'verbs must contain at least one value'))
  if (nonResourceURLs?.length) {
    const at = path.child('nonResourceURLs')
    if (namespaced) errors.push(invalid(at, nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs'))
    if (apiGroups?.length || resources?.length || resourceNames?.length) {
      errors.push(invalid(at, nonResourceURLs, 'rules cannot apply to both regular resources and non-resource URLs'))
    }
    return errors
  }
  if (!apiGroups?.length) errors.push(required(path.child('apiGroups'), 'resource rules must supply at least one api group'))
  if (!resources?.length) errors.push(required(path.child('resources'), 'resource rules must supply at least one resource'))
  return errors
}

export function validateAggregationRule(rule: rbacv1.AggregationRule | undefined): ErrorList {
  if (!rule) return []
  const path = FieldPath.root('aggregationRule').child('clusterRoleSelectors')
  if (!rule.clusterRoleSelectors?.length) return [required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil')]
  return rule.clusterRoleSelectors.flatMap((selector, i) => {
    const errors = validateLabelSelector(selector, path.index(i))
    return errors.length ? [...errors, invalid(path.index(i), undefined, 'invalid label selector.')] : errors
  })
}
