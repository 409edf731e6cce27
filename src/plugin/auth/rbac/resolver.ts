import type { rbacv1 } from '../../../api/index.ts'
import { newNotFound, type StatusError } from '../../../apimachinery/errors.ts'
import { quote } from '../../../apimachinery/quote.ts'
import type { UserInfo } from '../../../apiserver/authentication/authenticator.ts'
import { BoundedMap } from '../../../base/bounded-map.ts'
import type { Lister } from '../../../client/cache/store.ts'
import { serviceAccountUsername } from '../service-account/identity.ts'
import type { PolicyRule } from './rules.ts'

const GROUP = 'rbac.authorization.k8s.io'

/** Roles and bindings as they are held in memory. */
export interface RbacListers {
  readonly roles: Pick<Lister<rbacv1.Role>, 'get'>
  readonly clusterRoles: Pick<Lister<rbacv1.ClusterRole>, 'get'>
  readonly roleBindings: Pick<Lister<rbacv1.RoleBinding>, 'inNamespace'>
  readonly clusterRoleBindings: Pick<Lister<rbacv1.ClusterRoleBinding>, 'list'>
}

/** The rules one binding gives a user, or why they cannot be found. */
export interface Grant {
  readonly rules: readonly PolicyRule[]
  readonly error?: StatusError
  /** `ClusterRoleBinding "b" of ClusterRole "r" to Group "g"`, made when asked for. */
  source(): string
}

/** Users whose bindings are remembered. */
const REMEMBERED = 2048

interface Match {
  readonly binding: rbacv1.RoleBinding | rbacv1.ClusterRoleBinding
  readonly subject: rbacv1.Subject
  text?: string
}

const CLUSTER: readonly string[] = ['']

/**
 * Which bindings apply to a user. Bindings are remembered per user and namespace until `invalidate`; roles are looked up each time,
 * so that only changes of bindings need to be told. Synchronous: it stands in every request's way.
 */
export class RuleResolver {
  private readonly listers: RbacListers
  private readonly matches = new BoundedMap<string, readonly Match[]>(REMEMBERED)
  /** The same by the object of the user, which authenticators keep; then by namespace. */
  private byUser = new WeakMap<UserInfo, Map<string, readonly Match[]>>()

  constructor(listers: RbacListers) {
    this.listers = listers
  }

  /** To be called on every change of a RoleBinding or ClusterRoleBinding. */
  invalidate(): void {
    this.matches.clear()
    this.byUser = new WeakMap()
  }

  /** Grants of cluster role bindings, then those of the namespace's role bindings (none for ''). */
  *grants(user: UserInfo, namespace: string): Generator<Grant> {
    yield* this.resolve(user, '')
    if (namespace !== '') yield* this.resolve(user, namespace)
  }

  /** All rules of a user and the errors met on the way. */
  rulesFor(user: UserInfo, namespace: string): { rules: PolicyRule[]; errors: StatusError[] } {
    const rules: PolicyRule[] = []
    const errors: StatusError[] = []
    for (const grant of this.grants(user, namespace)) {
      if (grant.error) errors.push(grant.error)
      else rules.push(...grant.rules)
    }
    return { rules, errors }
  }

  /** The rules a binding's role holds. @throws StatusError NotFound */
  roleRules(ref: rbacv1.RoleRef, namespace: string): readonly PolicyRule[] {
    if (ref.kind === 'Role') {
      const role = this.listers.roles.get(`${namespace}/${ref.name}`)
      if (!role) throw newNotFound({ group: GROUP, resource: 'role' }, ref.name)
      return role.rules ?? []
    }
    const role = this.listers.clusterRoles.get(ref.name)
    if (!role) throw newNotFound({ group: GROUP, resource: 'clusterrole' }, ref.name)
    return role.rules ?? []
  }

  private *resolve(user: UserInfo, namespace: string): Generator<Grant> {
    for (const match of this.matching(user, namespace)) {
      const { binding, subject } = match
      const source = () => grantText(binding, subject, namespace)
      try {
        yield { rules: this.roleRules(binding.roleRef, namespace), source }
      } catch (error) {
        yield { rules: [], error: error as StatusError, source }
      }
    }
  }

  /**
   * Calls `visit` for the rules of each grant, in the order of `grants`, until it returns true. @returns the text of the grant that
   * ended it, or the errors met on the way
   */
  find(user: UserInfo, namespace: string, visit: (rule: PolicyRule) => boolean): { source?: string; errors?: string[] } {
    let errors: string[] | undefined
    for (const place of namespace === '' ? CLUSTER : ['', namespace]) {
      for (const match of this.matching(user, place)) {
        let rules: readonly PolicyRule[]
        try {
          rules = this.roleRules(match.binding.roleRef, place)
        } catch (error) {
          ;(errors ??= []).push((error as StatusError).message)
          continue
        }
        for (const rule of rules) {
          if (visit(rule)) return { source: (match.text ??= grantText(match.binding, match.subject, place)) }
        }
      }
    }
    return errors ? { errors } : {}
  }

  private matching(user: UserInfo, namespace: string): readonly Match[] {
    let known = this.byUser.get(user)
    const found = known?.get(namespace)
    if (found) return found
    if (!known || known.size >= REMEMBERED) {
      known = new Map()
      this.byUser.set(user, known)
    }
    const matches = this.matchingByName(user, namespace)
    known.set(namespace, matches)
    return matches
  }

  private matchingByName(user: UserInfo, namespace: string): readonly Match[] {
    // JSON, so that no name can look like another user with other groups.
    const key = JSON.stringify([namespace, user.name, user.groups])
    const known = this.matches.get(key)
    if (known) return known
    const found: Match[] = []
    const bindings = namespace === '' ? this.listers.clusterRoleBindings.list() : this.listers.roleBindings.inNamespace(namespace)
    for (const binding of [...bindings].sort(byName)) {
      const subject = binding.subjects?.find((s) => applies(s, user, namespace))
      if (subject) found.push({ binding, subject })
    }
    this.matches.set(key, found)
    return found
  }
}

const byName = (a: { metadata: { name?: string } }, b: { metadata: { name?: string } }) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1)

/** A service account of a role binding that names no namespace is one of the binding's. */
function applies(subject: rbacv1.Subject, user: UserInfo, namespace: string): boolean {
  if (subject.kind === 'User') return subject.name === user.name
  if (subject.kind === 'Group') return user.groups.includes(subject.name)
  if (subject.kind !== 'ServiceAccount') return false
  const own = subject.namespace || namespace
  return own !== '' && serviceAccountUsername(own, subject.name) === user.name
}

function grantText(binding: rbacv1.RoleBinding | rbacv1.ClusterRoleBinding, subject: rbacv1.Subject, namespace: string): string {
  const { roleRef, metadata } = binding
  const name = namespace === '' ? (metadata.name ?? '') : `${metadata.name}/${namespace}`
  const kind = namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding'
  const who = subject.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace || namespace}` : subject.name
  return `${kind} ${quote(name)} of ${roleRef.kind} ${quote(roleRef.name)} to ${subject.kind} ${quote(who)}`
}
