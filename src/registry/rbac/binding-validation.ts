import type { rbacv1 } from '../../api/index.ts'
import { type ErrorList, FieldPath, invalid, notSupported, required } from '../../apimachinery/field.ts'
import { isDNS1123Subdomain, isPathSegmentName } from '../../apimachinery/validation/names.ts'

export const RBAC_GROUP = 'rbac.authorization.k8s.io'

/** @param namespaced a RoleBinding, which may bind roles of both kinds and need not name its service accounts' namespace */
export function validateBinding(binding: rbacv1.RoleBinding, namespaced: boolean): ErrorList {
  const errors: ErrorList = []
  const { roleRef } = binding
  const path = FieldPath.root('roleRef')
  const kinds = namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole']
  if (roleRef.apiGroup !== RBAC_GROUP) errors.push(notSupported(path.child('apiGroup'), roleRef.apiGroup, [RBAC_GROUP]))
  if (!kinds.includes(roleRef.kind)) errors.push(notSupported(path.child('kind'), roleRef.kind, kinds))
  if (!roleRef.name) errors.push(required(path.child('name')))
  else for (const text of isPathSegmentName(roleRef.name)) errors.push(invalid(path.child('name'), roleRef.name, text))
  for (const [i, subject] of (binding.subjects ?? []).entries()) errors.push(...validateSubject(subject, namespaced, FieldPath.root('subjects').index(i)))
  return errors
}

function validateSubject(subject: rbacv1.Subject, namespaced: boolean, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  if (!subject.name) errors.push(required(path.child('name')))
  const group = subject.apiGroup ?? ''
  switch (subject.kind) {
    case 'ServiceAccount':
      if (subject.name) for (const text of isDNS1123Subdomain(subject.name)) errors.push(invalid(path.child('name'), subject.name, text))
      if (group !== '') errors.push(notSupported(path.child('apiGroup'), group, ['']))
      if (!namespaced && !subject.namespace) errors.push(required(path.child('namespace')))
      break
    case 'User':
    case 'Group':
      if (group !== RBAC_GROUP) errors.push(notSupported(path.child('apiGroup'), group, [RBAC_GROUP]))
      break
    default:
      errors.push(notSupported(path.child('kind'), subject.kind ?? '', ['ServiceAccount', 'User', 'Group']))
  }
  return errors
}

export function validateRoleRefUnchanged(binding: rbacv1.RoleBinding, old: rbacv1.RoleBinding): ErrorList {
  const { apiGroup, kind, name } = binding.roleRef
  const before = old.roleRef
  if (apiGroup === before.apiGroup && kind === before.kind && name === before.name) return []
  return [invalid(FieldPath.root('roleRef'), { APIGroup: apiGroup, Kind: kind, Name: name }, 'cannot change roleRef')]
}

/** Users and groups belong to RBAC's own group, service accounts to none. */
export function defaultBinding(binding: rbacv1.RoleBinding): void {
  if (!binding.roleRef.apiGroup) binding.roleRef.apiGroup = RBAC_GROUP
  for (const subject of binding.subjects ?? []) {
    if (!subject.apiGroup && (subject.kind === 'User' || subject.kind === 'Group')) subject.apiGroup = RBAC_GROUP
  }
}
