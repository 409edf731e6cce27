import { resources, type schedulingv1 } from '../../api/index.ts'
import { createIfMissing } from './ensure.ts'
import type { HookContext, PostStartHook } from './hook.ts'

const GIVE_UP_MS = 30_000

const classes = [
  ['system-node-critical', 2_000_001_000, 'Used for system critical pods that must not be moved from their current node.'],
  ['system-cluster-critical', 2_000_000_000, 'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.'],
] as const

/** The two classes of the system's own Pods. */
export function priorityClassesHook({ client, clock, log }: HookContext): PostStartHook {
  const ensure = async () => {
    const { items } = await client.resource(resources.schedulingv1.priorityclasses).list()
    const there = new Set(items.map((c) => c.metadata.name))
    for (const [name, value, description] of classes) {
      if (there.has(name)) continue
      const object = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name }, value, description } as schedulingv1.PriorityClass
      await createIfMissing(client, resources.schedulingv1.priorityclasses, { ...object, preemptionPolicy: 'PreemptLowerPriority' })
    }
  }
  return {
    name: 'scheduling/bootstrap-system-priority-classes',
    async run(signal) {
      const end = clock.monotonic() + GIVE_UP_MS
      for (;;) {
        try {
          return await ensure()
        } catch (error) {
          log.error('unable to make the system priority classes', { err: String(error) })
          if (clock.monotonic() >= end) throw new Error(`unable to add default system priority classes: ${(error as Error).message}`)
          await clock.sleep(1000, signal)
        }
      }
    },
  }
}
