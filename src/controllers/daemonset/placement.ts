import type { DaemonSet } from '../../api/apps/v1/types.generated.ts'
import type { Node, Pod, PodTemplateSpec, Toleration } from '../../api/core/v1/types.generated.ts'
import { deepCopy } from '../../base/index.ts'
import { matchesRequiredNodeAffinity } from '../../component-helpers/node-affinity.ts'
import { addOrUpdateToleration, doNotScheduleTaint, findUntoleratedTaint } from '../../component-helpers/taints.ts'

export const HASH_LABEL = 'controller-revision-hash'
export const GENERATION_LABEL = 'pod-template-generation'
const GENERATION_ANNOTATION = 'deprecated.daemonset.template.generation'

/** The template's generation as old clients count it; undefined without the annotation. */
export function templateGeneration(set: DaemonSet): string | undefined {
  const text = set.metadata.annotations?.[GENERATION_ANNOTATION]
  return text !== undefined && /^[0-9]+$/.test(text) ? text : undefined
}

function withDaemonTolerations(tolerations: readonly Toleration[] | undefined, hostNetwork: boolean): Toleration[] {
  const out = [...(tolerations ?? [])]
  const add = (name: string, effect: string) => void addOrUpdateToleration(out, { key: `node.kubernetes.io/${name}`, operator: 'Exists', effect })
  add('not-ready', 'NoExecute')
  add('unreachable', 'NoExecute')
  for (const name of ['disk-pressure', 'memory-pressure', 'pid-pressure', 'unschedulable']) add(name, 'NoSchedule')
  if (hostNetwork) add('network-unavailable', 'NoSchedule')
  return out
}

export interface Placement {
  shouldRun: boolean
  shouldContinue: boolean
}

/** Whether a Pod of the set belongs on the node, and whether one that is there may stay. */
export function placementOn(set: DaemonSet, node: Node): Placement {
  const { spec } = set.spec.template
  if (spec.nodeName && spec.nodeName !== node.metadata.name) return { shouldRun: false, shouldContinue: false }
  if (!matchesRequiredNodeAffinity({ spec } as Pick<Pod, 'spec'>, node)) return { shouldRun: false, shouldContinue: false }
  const tolerations = withDaemonTolerations(spec.tolerations, spec.hostNetwork === true)
  if (findUntoleratedTaint(node.spec?.taints, tolerations, doNotScheduleTaint)) {
    return { shouldRun: false, shouldContinue: !findUntoleratedTaint(node.spec?.taints, tolerations, (t) => t.effect === 'NoExecute') }
  }
  return { shouldRun: true, shouldContinue: true }
}

/** The template of the Pod for one node: the scheduler is told the node's name by affinity. */
export function templateFor(set: DaemonSet, hash: string, nodeName: string): PodTemplateSpec {
  const template = deepCopy(set.spec.template)
  const generation = templateGeneration(set)
  template.metadata = {
    ...template.metadata,
    labels: { ...template.metadata?.labels, [HASH_LABEL]: hash, ...(generation === undefined ? {} : { [GENERATION_LABEL]: generation }) },
  }
  const { affinity } = template.spec
  template.spec.affinity = {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }] }],
      },
    },
  }
  template.spec.tolerations = withDaemonTolerations(template.spec.tolerations, template.spec.hostNetwork === true)
  return template
}

/** The node a Pod of a DaemonSet is on or meant for; '' when it names none. */
export function targetNodeOf(pod: Pod): string {
  if (pod.spec.nodeName) return pod.spec.nodeName
  const terms = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  for (const term of terms) {
    for (const field of term.matchFields ?? []) {
      if (field.key === 'metadata.name' && field.operator === 'In' && field.values?.length === 1) return field.values[0] as string
    }
  }
  return ''
}
