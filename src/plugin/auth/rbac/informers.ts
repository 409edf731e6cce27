import { type rbacv1, resources } from '../../../api/index.ts'
import type { KubeObject } from '../../../apimachinery/object.ts'
import type { ResourceEventHandler } from '../../../client/cache/informer.ts'
import type { InformerFactory } from '../../../client/cache/informer-factory.ts'
import { type RbacListers, RuleResolver } from './resolver.ts'

/** A resolver over shared informers, told of every change of a binding. */
export function informedRuleResolver(informers: InformerFactory): RuleResolver {
  const { roles, clusterroles, rolebindings, clusterrolebindings } = resources.rbacv1
  const bindings = informers.informer<rbacv1.RoleBinding>(rolebindings)
  const clusterBindings = informers.informer<rbacv1.ClusterRoleBinding>(clusterrolebindings)
  const listers: RbacListers = {
    roles: informers.informer(roles).lister,
    clusterRoles: informers.informer(clusterroles).lister,
    roleBindings: bindings.lister,
    clusterRoleBindings: clusterBindings.lister,
  }
  const resolver = new RuleResolver(listers)
  const changed: ResourceEventHandler<KubeObject> = {
    onAdd: () => resolver.invalidate(),
    onUpdate: () => resolver.invalidate(),
    onDelete: () => resolver.invalidate(),
  }
  bindings.addHandler(changed)
  clusterBindings.addHandler(changed)
  return resolver
}
