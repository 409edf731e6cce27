import { type corev1, resources } from '../../api/index.ts'
import { newNotFound } from '../../apimachinery/errors.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import { BoundedMap } from '../../base/bounded-map.ts'
import { getOrUndefined } from '../../client/rest/client.ts'
import type { AdmissionDependencies } from './dependencies.ts'
import { refused, refusedTerminating } from './refusal.ts'

const IMMORTAL = new Set(['default', 'kube-system', 'kube-public'])
/** So long after a namespace's deletion was asked for, the cache is not believed about it. */
const DISTRUST_MS = 30_000
const DISTRUSTED_MAX = 1000

/** Nothing is written to a namespace that is not there, nothing made in one that is going, and three namespaces stay for ever. */
export function namespaceLifecycle({ client, informers, clock }: AdmissionDependencies): AdmissionPlugin {
  const { lister } = informers.informer(resources.corev1.namespaces)
  const api = client.resource(resources.corev1.namespaces)
  const deleted = new BoundedMap<string, number>(DISTRUSTED_MAX)
  const distrusted = (name: string) => {
    const until = deleted.get(name)
    if (until === undefined) return false
    if (until > clock.monotonic()) return true
    deleted.delete(name)
    return false
  }
  const check = (attributes: AdmissionAttributes, found: corev1.Namespace | undefined): void => {
    if (!found) throw newNotFound({ group: '', resource: 'namespaces' }, attributes.namespace)
    if (attributes.operation === 'CREATE' && found.status?.phase === 'Terminating') throw refusedTerminating(attributes)
  }
  return {
    name: 'NamespaceLifecycle',
    handles: (operation) => operation !== 'CONNECT',
    admit(attributes) {
      const { operation, resource, namespace } = attributes
      if (resource.group === '' && resource.resource === 'namespaces') {
        if (operation !== 'DELETE') return
        if (IMMORTAL.has(attributes.name)) throw refused(attributes, 'this namespace may not be deleted')
        deleted.set(attributes.name, clock.monotonic() + DISTRUST_MS)
        return
      }
      if (namespace === '' || operation === 'DELETE' || resource.resource === 'localsubjectaccessreviews') return
      const known: corev1.Namespace | undefined = distrusted(namespace) ? undefined : lister.get(namespace)
      if (known) return check(attributes, known)
      return getOrUndefined(api, namespace).then((found) => check(attributes, found))
    },
  }
}
