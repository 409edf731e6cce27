import type { Container, NodeAffinity, NodeSelectorTerm, Pod, PodSpec, Toleration } from '../../../../api/core/v1/types.generated.ts'
import { type ErrorList, FieldPath, forbidden, invalid } from '../../../../apimachinery/field.ts'
import { inclusiveRange, sortedKeys } from '../../../../apimachinery/validation/index.ts'
import { deepCopy, deepEqual } from '../../../../base/deep-freeze.ts'
import { sameToleration } from '../../../../component-helpers/taints.ts'
import { internalForm } from '../../../internal-form.ts'
import type { PodValidationOptions } from './options.ts'
import { validatePodMetadataAndSpec } from './pod.ts'
import { podSpecDifference } from './spec-difference.ts'

const SPEC = FieldPath.root('spec')
const ANNOTATIONS = FieldPath.root('metadata', 'annotations')
const MIRROR = 'kubernetes.io/config.mirror'
const APPARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/'
const MAX_INT32 = 2147483647

export const IMMUTABLE_TEXT =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

/** Mirror and AppArmor annotations are fixed with the Pod. */
export function validateAnnotationUpdate(pod: Pod, old: Pod): ErrorList {
  const errs: ErrorList = []
  const now = pod.metadata.annotations ?? {}
  const before = old.metadata.annotations ?? {}
  for (const key of sortedKeys(now)) {
    if (now[key] === before[key]) continue
    if (key.startsWith(APPARMOR_PREFIX)) errs.push(forbidden(ANNOTATIONS.key(key), 'may not add AppArmor annotations'))
    if (key === MIRROR) errs.push(forbidden(ANNOTATIONS.key(key), 'may not add mirror pod annotation'))
  }
  for (const key of sortedKeys(before)) {
    if (now[key] === before[key]) continue
    if (key.startsWith(APPARMOR_PREFIX)) errs.push(forbidden(ANNOTATIONS.key(key), 'may not remove or update AppArmor annotations'))
    if (key === MIRROR) errs.push(forbidden(ANNOTATIONS.key(key), 'may not remove or update mirror pod annotation'))
  }
  return errs
}

function validateSameContainers(containers: readonly Container[] | undefined, old: readonly Container[] | undefined, path: FieldPath): ErrorList {
  return (containers?.length ?? 0) === (old?.length ?? 0) ? [] : [forbidden(path, 'pod updates may not add or remove containers')]
}

function validateOnlyAddedTolerations(tolerations: readonly Toleration[], old: readonly Toleration[], path: FieldPath): ErrorList {
  const kept = old.every((o) => tolerations.some((t) => sameToleration(t, o)))
  return kept ? [] : [forbidden(path, 'existing toleration can not be modified except its tolerationSeconds')]
}

function validateNodeSelectorAdditions(selector: Record<string, string> | undefined, old: Record<string, string> | undefined): ErrorList {
  const kept = Object.entries(old ?? {}).every(([k, v]) => selector?.[k] === v)
  if (kept) return []
  const sorted = Object.fromEntries(sortedKeys(selector).map((k) => [k, selector?.[k]]))
  return [invalid(SPEC.child('nodeSelector'), selector ? sorted : null, 'only additions to spec.nodeSelector are allowed (no mutations or deletions)')]
}

const onlyAdds = <T>(now: readonly T[] | undefined, old: readonly T[] | undefined): boolean =>
  (old?.length ?? 0) === 0 || ((now?.length ?? 0) >= (old?.length ?? 0) && (old ?? []).every((o, i) => deepEqual(now?.[i], o)))

function validateNodeAffinityAdditions(affinity: NodeAffinity | undefined, old: NodeAffinity | undefined): ErrorList {
  const path = SPEC.child('affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution', 'nodeSelectorTerms')
  const before = old?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const now = affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  if (before.length === 0) return []
  if (now.length !== before.length) {
    return [invalid(path, internalForm('NodeSelectorTerm', now), 'no additions/deletions to non-empty NodeSelectorTerms list are allowed')]
  }
  const errs: ErrorList = []
  before.forEach((term: NodeSelectorTerm, i) => {
    const next = now[i] as NodeSelectorTerm
    if (onlyAdds(next.matchExpressions, term.matchExpressions) && onlyAdds(next.matchFields, term.matchFields) && !(isEmpty(term) && !isEmpty(next))) return
    errs.push(invalid(path.index(i), internalForm('NodeSelectorTerm', next), 'only additions are allowed (no mutations or deletions)'))
  })
  return errs
}

const isEmpty = (term: NodeSelectorTerm): boolean => !term.matchExpressions?.length && !term.matchFields?.length

/** Takes over from `old` what may change, so that the rest can be compared; reports changes that go too far. */
function mungeGated(spec: PodSpec, old: PodSpec, errs: ErrorList): void {
  if (!deepEqual(spec.nodeSelector ?? {}, old.nodeSelector ?? {})) {
    errs.push(...validateNodeSelectorAdditions(spec.nodeSelector, old.nodeSelector))
    copyField(spec, old, 'nodeSelector')
  }
  const before = old.affinity?.nodeAffinity
  if (deepEqual(spec.affinity?.nodeAffinity, before)) return
  errs.push(...validateNodeAffinityAdditions(spec.affinity?.nodeAffinity, before))
  const affinity = { ...spec.affinity }
  if (before) affinity.nodeAffinity = before
  else delete affinity.nodeAffinity
  if (!old.affinity && Object.keys(affinity).length === 0) delete spec.affinity
  else spec.affinity = affinity
}

function copyField<K extends keyof PodSpec>(spec: PodSpec, old: PodSpec, name: K): void {
  if (old[name] === undefined) delete spec[name]
  else spec[name] = old[name]
}

function copyImages(containers: Container[] | undefined, old: readonly Container[] | undefined): void {
  containers?.forEach((container, i) => {
    const image = old?.[i]?.image
    if (image === undefined) delete container.image
    else container.image = image
  })
}

export function validatePodUpdate(pod: Pod, old: Pod, options: PodValidationOptions): ErrorList {
  const errs = [...validatePodMetadataAndSpec(pod, options), ...validateAnnotationUpdate(pod, old)]
  const spec = pod.spec as PodSpec
  const before = old.spec as PodSpec
  for (const name of ['containers', 'initContainers'] as const) {
    const stop = validateSameContainers(spec[name], before[name], SPEC.child(name))
    if (stop.length > 0) return [...errs, ...stop]
  }
  const deadline = spec.activeDeadlineSeconds
  const at = SPEC.child('activeDeadlineSeconds')
  if (deadline !== undefined) {
    if (deadline < 0 || deadline > MAX_INT32) return [...errs, invalid(at, deadline, inclusiveRange(0, MAX_INT32))]
    if (before.activeDeadlineSeconds !== undefined && before.activeDeadlineSeconds < deadline) {
      return [...errs, invalid(at, deadline, 'must be less than or equal to previous value')]
    }
  } else if (before.activeDeadlineSeconds !== undefined) errs.push(invalid(at, null, 'must not update from a positive integer to nil value'))
  errs.push(...validateOnlyAddedTolerations(spec.tolerations ?? [], before.tolerations ?? [], SPEC.child('tolerations')))
  const gates = new Set((before.schedulingGates ?? []).map((g) => g.name))
  spec.schedulingGates?.forEach((gate, i) => {
    if (gates.has(gate.name)) return
    errs.push(forbidden(SPEC.child('schedulingGates').index(i).child('name'), `only deletion is allowed, but found new scheduling gate '${gate.name}'`))
  })
  if (deepEqual(spec, before)) return errs

  const munged = deepCopy(spec)
  copyImages(munged.containers, before.containers)
  copyImages(munged.initContainers, before.initContainers)
  copyField(munged, before, 'activeDeadlineSeconds')
  copyField(munged, before, 'tolerations')
  copyField(munged, before, 'schedulingGates')
  if ((before.terminationGracePeriodSeconds ?? 0) < 0 && munged.terminationGracePeriodSeconds === 1) copyField(munged, before, 'terminationGracePeriodSeconds')
  if (before.schedulingGates?.length) mungeGated(munged, before, errs)
  if (!deepEqual(munged, before)) errs.push(forbidden(SPEC, `${IMMUTABLE_TEXT}\n${podSpecDifference(before, munged)}`))
  return errs
}
