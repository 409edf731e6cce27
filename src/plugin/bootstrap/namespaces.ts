import { type corev1, resources } from '../../api/index.ts'
import { atOnce } from './at-once.ts'
import { createIfMissing } from './ensure.ts'
import { type HookContext, keepDoing, type PostStartHook } from './hook.ts'

/** Namespaces every cluster has. */
export const SYSTEM_NAMESPACES = ['kube-system', 'kube-public', 'kube-node-lease', 'default'] as const

const PERIOD_MS = 60_000

/** Makes the system's namespaces and looks after them every minute: kube-node-lease may be deleted, and comes back. */
export function systemNamespacesHook(context: HookContext): PostStartHook {
  return {
    name: 'start-system-namespaces-controller',
    run: (signal) => {
      const ensure = async () => {
        const { items } = await context.client.resource(resources.corev1.namespaces).list()
        const there = new Set(items.map((n) => n.metadata.name))
        const missing = SYSTEM_NAMESPACES.filter((name) => !there.has(name))
        await atOnce(missing, (name) =>
          createIfMissing(context.client, resources.corev1.namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } } as corev1.Namespace),
        )
      }
      return keepDoing('system namespaces', ensure, PERIOD_MS, context, signal)
    },
  }
}
