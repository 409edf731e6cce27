import { type corev1, resources } from '../../api/index.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import { fromAmounts, podLimits, podRequests } from '../../component-helpers/pod-requests.ts'
import type { AdmissionDependencies } from './dependencies.ts'
import { limitViolations, maxRequestViolations, minViolations, type Usage } from './limit-constraints.ts'
import { concerns, refused } from './refusal.ts'

const ANNOTATION = 'kubernetes.io/limit-ranger'
type Limits = readonly corev1.LimitRangeItem[]

/** Holds Pods and claims to the LimitRanges of their namespace, and fills in what containers leave open. */
export function limitRanger({ informers }: AdmissionDependencies): AdmissionPlugin {
  const { lister } = informers.informer(resources.corev1.limitranges)
  const limitsFor = ({ namespace }: AdmissionAttributes): Limits =>
    lister
      .inNamespace(namespace)
      .sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
      .flatMap((range) => range.spec.limits ?? [])
  return {
    name: 'LimitRanger',
    looksAt: ({ group, resource }) => group === '' && (resource === 'pods' || resource === 'persistentvolumeclaims'),
    handles: (operation) => operation === 'CREATE' || operation === 'UPDATE',
    admit(attributes) {
      if (attributes.operation !== 'CREATE' || !concerns(attributes, '', 'pods')) return
      const limits = limitsFor(attributes)
      if (limits.length) fillDefaults(attributes.object as corev1.Pod, limits)
    },
    validate(attributes) {
      const create = attributes.operation === 'CREATE'
      const isPod = create ? concerns(attributes, '', 'pods') : concerns(attributes, '', 'pods', 'resize')
      const isClaim = concerns(attributes, '', 'persistentvolumeclaims')
      if (!isPod && !isClaim) return
      const limits = limitsFor(attributes)
      const texts = isPod ? podViolations(attributes.object as corev1.Pod, limits) : claimViolations(attributes.object as corev1.PersistentVolumeClaim, limits)
      if (texts.length) throw refused(attributes, ...texts)
    },
  }
}

function fillDefaults(pod: corev1.Pod, limits: Limits): void {
  const requests: Record<string, string> = {}
  const maxima: Record<string, string> = {}
  for (const item of limits) {
    if (item.type !== 'Container') continue
    Object.assign(requests, item.defaultRequest)
    Object.assign(maxima, item.default)
  }
  const notes: string[] = []
  const fill = (containers: readonly corev1.Container[] | undefined, kind: string) => {
    for (const container of containers ?? []) {
      for (const [field, defaults, word] of [
        ['requests', requests, 'request'],
        ['limits', maxima, 'limit'],
      ] as const) {
        const own = container.resources?.[field] ?? {}
        const added = Object.keys(defaults).filter((name) => !Object.hasOwn(own, name))
        if (added.length === 0) continue
        container.resources = { ...container.resources, [field]: { ...own, ...Object.fromEntries(added.map((name) => [name, defaults[name]])) } }
        notes.push(`${added.sort().join(', ')} ${word} for ${kind} ${container.name}`)
      }
    }
  }
  fill(pod.spec.containers ?? [], 'container')
  fill(pod.spec.initContainers, 'init container')
  if (notes.length) pod.metadata.annotations = { ...pod.metadata.annotations, [ANNOTATION]: `LimitRanger plugin set: ${notes.join('; ')}` }
}

function podViolations(pod: corev1.Pod, limits: Limits): string[] {
  const texts: string[] = []
  for (const item of limits) {
    if (item.type === 'Container') {
      for (const container of [...(pod.spec.containers ?? []), ...(pod.spec.initContainers ?? [])]) {
        texts.push(...limitViolations(item, 'Container', { requests: container.resources?.requests, limits: container.resources?.limits }))
      }
    }
    if (item.type === 'Pod') texts.push(...limitViolations(item, 'Pod', { requests: fromAmounts(podRequests(pod)), limits: fromAmounts(podLimits(pod)) }))
  }
  return texts
}

function claimViolations(claim: corev1.PersistentVolumeClaim, limits: Limits): string[] {
  const usage: Usage = { requests: claim.spec.resources?.requests, limits: claim.spec.resources?.limits }
  const type = 'PersistentVolumeClaim'
  return limits
    .filter((item) => item.type === type)
    .flatMap((item) => [...minViolations(item.min, type, usage), ...maxRequestViolations(item.max, type, usage)])
}
