import { resources } from '../../api/handles.generated.ts'
import type { ClusterRole, PolicyRule } from '../../api/rbac/v1/types.generated.ts'
import { isNotFound } from '../../apimachinery/errors.ts'
import { selectorFromLabelSelector } from '../../apimachinery/labels.ts'
import { deepEqual } from '../../base/index.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'

/** Fills cluster roles that gather the rules of others. */
export class ClusterRoleAggregationController {
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    const roles = context.informers.informer(resources.rbacv1.clusterroles)
    this.controller = new Controller(context, {
      name: 'clusterrole-aggregation-controller',
      informers: [roles],
      reconcile: async (name) => {
        const role = roles.lister.get(name)
        if (!role?.aggregationRule) return
        const rules = gather(role, roles.lister.list())
        if (deepEqual(rules, role.rules ?? [])) return
        try {
          await context.client
            .resource(resources.rbacv1.clusterroles)
            .patch(
              name,
              'apply',
              { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules },
              { force: true, fieldManager: 'clusterrole-aggregation-controller' },
            )
        } catch (error) {
          if (!isNotFound(error)) throw error
        }
      },
    })
    const changed = () => {
      for (const role of roles.lister.list()) if (role.aggregationRule) this.controller.queue.add(role.metadata.name ?? '')
    }
    roles.addHandler({ onAdd: changed, onUpdate: changed, onDelete: changed })
  }

  run(): Promise<void> {
    return this.controller.run()
  }
}

function gather(role: ClusterRole, all: readonly ClusterRole[]): PolicyRule[] {
  const rules: PolicyRule[] = []
  const sorted = [...all].sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
  for (const labelSelector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const selector = selectorFromLabelSelector(labelSelector)
    for (const other of sorted) {
      if (other.metadata.name === role.metadata.name || !selector.matches(other.metadata.labels)) continue
      for (const rule of other.rules ?? []) if (!rules.some((r) => deepEqual(r, rule))) rules.push(rule)
    }
  }
  return rules
}
