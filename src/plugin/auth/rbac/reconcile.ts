import type { rbacv1 } from '../../../api/index.ts'
import { deepCopy } from '../../../base/index.ts'
import { covers } from './rules.ts'

const AUTOUPDATE = 'rbac.authorization.kubernetes.io/autoupdate'

/** What to do about a stored object that a default asks for. */
export type Reconciliation<T> =
  | { action: 'keep' }
  /** It lacks something, and somebody has asked for it to be left alone. */
  | { action: 'protected' }
  | { action: 'update'; object: T }
  /** What differs cannot be changed in place. */
  | { action: 'recreate'; object: T }

/** Rules, labels, annotations and selectors that are missing are added; what is there beyond them stays. */
export function reconcileRole(want: rbacv1.ClusterRole, have: rbacv1.ClusterRole): Reconciliation<rbacv1.ClusterRole> {
  const { missing } = covers(have.rules ?? [], want.rules ?? [])
  const metadata = mergedMetadata(want, have)
  const selectors = have.aggregationRule?.clusterRoleSelectors ?? []
  const known = new Set(selectors.map((s) => JSON.stringify(s)))
  const added = (want.aggregationRule?.clusterRoleSelectors ?? []).filter((s) => !known.has(JSON.stringify(s)))
  const stray = !want.aggregationRule && have.aggregationRule !== undefined
  if (!missing.length && !metadata && !added.length && !stray) return { action: 'keep' }
  if (isProtected(have)) return { action: 'protected' }
  const object = deepCopy(have) as rbacv1.ClusterRole
  if (metadata) Object.assign(object.metadata, metadata)
  // An aggregated role's rules are the controller's; added ones would be dropped again.
  if (missing.length && !want.aggregationRule) object.rules = [...(object.rules ?? []), ...missing]
  if (added.length) object.aggregationRule = { clusterRoleSelectors: [...selectors, ...added] }
  if (stray) delete object.aggregationRule
  return { action: 'update', object }
}

/** Subjects that are missing are added. A binding of another role is made anew. */
export function reconcileBinding(want: rbacv1.RoleBinding, have: rbacv1.RoleBinding): Reconciliation<rbacv1.RoleBinding> {
  const same = (a: rbacv1.Subject) => (b: rbacv1.Subject) => a.kind === b.kind && a.name === b.name && (a.namespace ?? '') === (b.namespace ?? '')
  const missing = (want.subjects ?? []).filter((s) => !have.subjects?.some(same(s)))
  const metadata = mergedMetadata(want, have)
  const otherRole = want.roleRef.kind !== have.roleRef.kind || want.roleRef.name !== have.roleRef.name
  if (!missing.length && !metadata && !otherRole) return { action: 'keep' }
  if (isProtected(have)) return { action: 'protected' }
  if (otherRole) return { action: 'recreate', object: want }
  const object = deepCopy(have) as rbacv1.RoleBinding
  if (metadata) Object.assign(object.metadata, metadata)
  if (missing.length) object.subjects = [...(object.subjects ?? []), ...missing]
  return { action: 'update', object }
}

const isProtected = (object: rbacv1.ClusterRole | rbacv1.RoleBinding) => object.metadata.annotations?.[AUTOUPDATE] === 'false'

type WithMetadata = Pick<rbacv1.Role, 'metadata'>

/** Labels and annotations with those of the default where the key is missing; undefined when none is. */
function mergedMetadata(want: WithMetadata, have: WithMetadata): { labels: Record<string, string>; annotations: Record<string, string> } | undefined {
  const labels = { ...want.metadata.labels, ...have.metadata.labels }
  const annotations = { ...want.metadata.annotations, ...have.metadata.annotations }
  const grew = (merged: object, before: object | undefined) => Object.keys(merged).length > Object.keys(before ?? {}).length
  return grew(labels, have.metadata.labels) || grew(annotations, have.metadata.annotations) ? { labels, annotations } : undefined
}
