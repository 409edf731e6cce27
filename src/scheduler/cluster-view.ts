import type { corev1 } from '../api/index.ts'
import { resources } from '../api/index.ts'
import type { Labels } from '../apimachinery/labels.ts'
import type { InformerFactory } from '../client/cache/informer-factory.ts'
import { NAMESPACE_INDEX } from '../client/cache/store.ts'
import { POD_SCOPE } from './event-handlers.ts'
import type { ClusterView } from './framework/plugin.ts'
import { matchLabelSelector } from './framework/pod-terms.ts'
import { volumeView } from './volumes/volume-view.ts'

/** The view of namespaces, budgets, services and owners that plugins need, over shared informers. */
export function informerView(informers: InformerFactory): ClusterView {
  const namespaces = informers.informer(resources.corev1.namespaces).lister
  const budgets = informers.informer(resources.policyv1.poddisruptionbudgets).lister
  const services = informers.informer(resources.corev1.services).lister
  const controllers = informers.informer(resources.corev1.replicationcontrollers).lister
  const replicaSets = informers.informer(resources.appsv1.replicasets).lister
  const statefulSets = informers.informer(resources.appsv1.statefulsets).lister
  const pods = informers.informer(resources.corev1.pods, POD_SCOPE).lister
  return {
    pod: (key) => pods.get(key),
    volumes: volumeView(informers),
    namespaceLabels: (name) => namespaces.get(name)?.metadata.labels,
    podDisruptionBudgets: (namespace) => budgets.byIndex(NAMESPACE_INDEX, namespace),
    defaultSpreadSelector(pod: corev1.Pod) {
      const ns = pod.metadata.namespace ?? ''
      const labels = pod.metadata.labels ?? {}
      const all: ((labels: Labels) => boolean)[] = []
      const fromMap = (selector: Record<string, string>) => (l: Labels) => Object.keys(selector).every((k) => l[k] === selector[k])
      for (const s of services.byIndex(NAMESPACE_INDEX, ns)) {
        const selector = s.spec.selector
        if (selector && Object.keys(selector).length > 0 && fromMap(selector)(labels)) all.push(fromMap(selector))
      }
      const owner = pod.metadata.ownerReferences?.find((o) => o.controller)
      if (owner) {
        const key = `${ns}/${owner.name}`
        if (owner.kind === 'ReplicationController') {
          const selector = controllers.get(key)?.spec.selector
          if (selector) all.push(fromMap(selector))
        } else if (owner.kind === 'ReplicaSet') {
          const rs = replicaSets.get(key)
          if (rs) all.push(matchLabelSelector(rs.spec.selector))
        } else if (owner.kind === 'StatefulSet') {
          const set = statefulSets.get(key)
          if (set) all.push(matchLabelSelector(set.spec.selector))
        }
      }
      return all.length === 0 ? undefined : (l) => all.every((m) => m(l))
    },
  }
}
