import { type corev1, resources } from '../../api/index.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import type { AdmissionDependencies } from './dependencies.ts'
import { concerns } from './refusal.ts'

const COPIED = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'] as const

/** Pods carry their node's zone and region: put on the Binding, from where they come to the Pod, or on a Pod made for a node (KEP-4742). */
export function podTopologyLabels({ informers, isEnabled }: AdmissionDependencies): AdmissionPlugin {
  const { lister } = informers.informer(resources.corev1.nodes)
  const enabled = isEnabled('PodTopologyLabelsAdmission')
  return {
    name: 'PodTopologyLabels',
    looksAt: ({ group, resource }) => group === '' && (resource === 'pods' || resource === 'bindings'),
    handles: (operation) => enabled && operation === 'CREATE',
    admit(attributes) {
      const { object } = attributes
      if (!object) return
      if (concerns(attributes, '', 'pods')) label(object, (object as corev1.Pod).spec.nodeName)
      else if (concerns(attributes, '', 'pods', 'binding') || concerns(attributes, '', 'bindings')) {
        const { target } = object as corev1.Binding
        if (target.kind === 'Node' || !target.kind) label(object, target.name)
      }
    },
  }
  function label(object: KubeObject, nodeName: string | undefined): void {
    const labels = nodeName ? lister.get(nodeName)?.metadata.labels : undefined
    const copied = COPIED.filter((key) => labels?.[key] !== undefined)
    if (!labels || copied.length === 0) return
    object.metadata.labels = { ...object.metadata.labels, ...Object.fromEntries(copied.map((key) => [key, labels[key] as string])) }
  }
}
