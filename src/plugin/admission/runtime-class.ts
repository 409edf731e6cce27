import { type corev1, type nodev1, resources } from '../../api/index.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { getOrUndefined } from '../../client/rest/client.ts'
import { compareQuantities } from '../../component-helpers/amounts.ts'
import type { AdmissionDependencies } from './dependencies.ts'
import { concerns, refused } from './refusal.ts'

/** A Pod's runtime class sets its overhead and where it can run. */
export function runtimeClass({ client, informers }: AdmissionDependencies): AdmissionPlugin {
  const { lister } = informers.informer(resources.nodev1.runtimeclasses)
  const find = async (attributes: AdmissionAttributes): Promise<nodev1.RuntimeClass | undefined> => {
    const name = (attributes.object as corev1.Pod).spec.runtimeClassName
    if (!name) return undefined
    const found = lister.get(name) ?? (await getOrUndefined(client.resource(resources.nodev1.runtimeclasses), name))
    if (!found) throw refused(attributes, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`)
    return found
  }
  return {
    name: 'RuntimeClass',
    looksAt: ({ group, resource }) => group === '' && resource === 'pods',
    handles: (operation) => operation === 'CREATE',
    async admit(attributes) {
      if (!concerns(attributes, '', 'pods')) return
      const found = await find(attributes)
      const { spec } = attributes.object as corev1.Pod
      setOverhead(attributes, spec, found)
      if (found?.scheduling) setScheduling(attributes, spec, found.scheduling)
    },
    async validate(attributes) {
      if (!concerns(attributes, '', 'pods')) return
      const found = await find(attributes)
      const { spec } = attributes.object as corev1.Pod
      if (!found?.overhead?.podFixed && spec.overhead && Object.keys(spec.overhead).length) {
        throw refused(attributes, 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead')
      }
    },
  }
}

function setOverhead(attributes: AdmissionAttributes, spec: corev1.PodSpec, found: nodev1.RuntimeClass | undefined): void {
  const fixed = found?.overhead?.podFixed
  if (!fixed || Object.keys(fixed).length === 0) return
  const own = spec.overhead
  if (own && Object.keys(own).length) {
    const same = Object.keys(own).length === Object.keys(fixed).length && Object.keys(own).every((k) => compareQuantities(own[k], fixed[k] ?? '-1') === 0)
    if (!same) throw refused(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    return
  }
  spec.overhead = deepCopy(fixed) as Record<string, string>
}

function setScheduling(attributes: AdmissionAttributes, spec: corev1.PodSpec, scheduling: nodev1.Scheduling): void {
  const selector = scheduling.nodeSelector ?? {}
  for (const key of Object.keys(selector).sort()) {
    const own = spec.nodeSelector && Object.hasOwn(spec.nodeSelector, key) ? spec.nodeSelector[key] : undefined
    if (own !== undefined && own !== selector[key]) {
      throw refused(attributes, `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${selector[key]}; pod.spec.nodeSelector[${key}] = ${own}`)
    }
  }
  if (Object.keys(selector).length) spec.nodeSelector = { ...spec.nodeSelector, ...selector }
  const missing = (scheduling.tolerations ?? []).filter((t) => !spec.tolerations?.some((o) => deepEqual(o, t)))
  if (missing.length) spec.tolerations = [...(spec.tolerations ?? []), ...(deepCopy(missing) as corev1.Toleration[])]
}
