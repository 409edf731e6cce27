import type { Pod } from '../../../api/core/v1/types.generated.ts'
import { humanDuration } from '../../../apimachinery/duration.ts'
import type { TableColumns } from '../../../apiserver/registry/strategy.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { isPodConditionTrue } from '../../../component-helpers/pod-conditions.ts'
import { summarizePod } from '../../../component-helpers/pod-status.ts'
import { column } from '../../columns.ts'

const NONE = '<none>'

export const podColumns: TableColumns<Pod> = {
  columns: [
    column('Name', { format: 'name', description: 'Name of the Pod.' }),
    column('Ready', { description: 'Containers that are ready, of all that should be.' }),
    column('Status', { description: 'Where the Pod is in its life, with the reason of the first container that has one.' }),
    column('Restarts', { description: 'How often containers were started anew, and when last.' }),
    column('Age', { description: 'Time since creation.' }),
    column('IP', { priority: 1, description: 'First address of the Pod.' }),
    column('Node', { priority: 1, description: 'Node the Pod runs on.' }),
    column('Nominated Node', { priority: 1, description: 'Node that preemption is making room on.' }),
    column('Readiness Gates', { priority: 1, description: 'Readiness gates that are met, of all.' }),
  ],
  cells(pod, now) {
    const summary = summarizePod(pod)
    const restarts = summary.lastRestart === undefined ? String(summary.restarts) : `${summary.restarts} (${humanDuration(now - summary.lastRestart)} ago)`
    const gates = pod.spec?.readinessGates ?? []
    const met = gates.filter((g) => isPodConditionTrue(pod, g.conditionType)).length
    return [
      pod.metadata.name ?? '',
      `${summary.ready}/${summary.total}`,
      summary.status,
      restarts,
      ageOf(pod.metadata.creationTimestamp, now),
      pod.status?.podIPs?.[0]?.ip || NONE,
      pod.spec?.nodeName || NONE,
      pod.status?.nominatedNodeName || NONE,
      gates.length === 0 ? NONE : `${met}/${gates.length}`,
    ]
  },
  conditions(pod) {
    if (pod.status?.phase === 'Succeeded') return [{ type: 'Completed', status: 'True', reason: 'Succeeded', message: 'The pod has completed successfully.' }]
    if (pod.status?.phase === 'Failed') return [{ type: 'Completed', status: 'True', reason: 'Failed', message: 'The pod failed.' }]
    return []
  },
}
