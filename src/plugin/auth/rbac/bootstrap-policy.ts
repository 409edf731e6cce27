import type { rbacv1 } from '../../../api/index.ts'
import { bootstrapPolicy } from './bootstrap-policy.generated.ts'

export interface Policy {
  readonly clusterRoles: readonly rbacv1.ClusterRole[]
  readonly clusterRoleBindings: readonly rbacv1.ClusterRoleBinding[]
  readonly roles: readonly rbacv1.Role[]
  readonly roleBindings: readonly rbacv1.RoleBinding[]
}

type Entry = { name: string; namespace?: string; labels: Record<string, string>; rules?: Gated<rbacv1.PolicyRule>[] } & Record<string, unknown>
type Gated<T> = T & { 'x-gate'?: string }

/** The roles and bindings every cluster has, as the feature gates in force make them. */
export function defaultPolicy(isEnabled: (gate: string) => boolean): Policy {
  const data = JSON.parse(bootstrapPolicy) as Record<keyof Policy, Gated<Entry>[]> & { annotations: Record<string, string> }
  const on = (entry: { 'x-gate'?: string }) => entry['x-gate'] === undefined || entry['x-gate'].split('+').every(isEnabled)
  const bare = <T extends object>({ 'x-gate': _, ...rest }: Gated<T>) => rest as unknown as T
  const objects = <T>(kind: string, entries: Gated<Entry>[]): T[] =>
    entries.filter(on).map((entry) => {
      const { name, namespace, labels, rules, ...rest } = bare<Entry>(entry)
      return {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind,
        metadata: { name, ...(namespace ? { namespace } : {}), labels: { ...labels }, annotations: { ...data.annotations } },
        ...rest,
        ...(rules ? { rules: rules.filter(on).map(bare) } : {}),
      } as T
    })
  return {
    clusterRoles: objects('ClusterRole', data.clusterRoles),
    clusterRoleBindings: objects('ClusterRoleBinding', data.clusterRoleBindings),
    roles: objects('Role', data.roles),
    roleBindings: objects('RoleBinding', data.roleBindings),
  }
}
