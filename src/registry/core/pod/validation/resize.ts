import type { Container, EphemeralContainer, Pod, PodSpec, ResourceList } from '../../../../api/core/v1/types.generated.ts'
import { type ErrorList, FieldPath, forbidden, invalid } from '../../../../apimachinery/field.ts'
import { quote } from '../../../../apimachinery/quote.ts'
import { deepCopy, deepEqual } from '../../../../base/deep-freeze.ts'
import { compareQuantities } from '../../../../component-helpers/amounts.ts'
import { isMirrorPod, isSidecar } from '../../../../component-helpers/pod-conditions.ts'
import { computeQOSClass, qosClass } from '../../../../component-helpers/qos.ts'
import type { PodValidationOptions } from './options.ts'
import { validatePodMetadataAndSpec } from './pod.ts'
import { specDifference } from './spec-difference.ts'
import { validateAnnotationUpdate } from './update.ts'

const SPEC = FieldPath.root('spec')
const RESIZABLE = new Set(['cpu', 'memory'])
const wholeObject = FieldPath.root('')

function others(list: ResourceList | undefined): ResourceList {
  return Object.fromEntries(Object.entries(list ?? {}).filter(([name]) => !RESIZABLE.has(name)))
}

const sameOthers = (a: ResourceList | undefined, b: ResourceList | undefined): boolean => {
  const x = others(a)
  const y = others(b)
  const names = Object.keys(x)
  return names.length === Object.keys(y).length && names.every((n) => y[n] !== undefined && compareQuantities(x[n], y[n]) === 0)
}

const removed = (now: ResourceList | undefined, old: ResourceList | undefined): boolean =>
  Object.keys(old ?? {}).some((name) => !Object.hasOwn(now ?? {}, name))

/** Containers' cpu and memory are all that pods/resize may change (KEP-1287), and only where the class of service stays. */
export function validatePodResize(pod: Pod, old: Pod, options: PodValidationOptions): ErrorList {
  const errs = [...validatePodMetadataAndSpec(pod, options), ...validateAnnotationUpdate(pod, old)]
  const spec = pod.spec as PodSpec
  const before = old.spec as PodSpec
  if (isMirrorPod(old)) return [forbidden(wholeObject, 'static pods cannot be resized')]
  if (before.os?.name === 'windows') return [forbidden(wholeObject, 'windows pods cannot be resized')]
  if (qosClass(old) !== computeQOSClass(pod)) {
    errs.push(invalid(SPEC, qosClass(old), 'Pod QOS Class may not change as a result of resizing'))
  }
  if (spec.containers.length !== before.containers.length) errs.push(forbidden(SPEC.child('containers'), 'containers may not be added or removed on resize'))
  const visit = (containers: readonly Container[] | undefined, previous: readonly Container[] | undefined, path: FieldPath) =>
    containers?.forEach((container, i) => {
      const was = previous?.[i]
      if (!was || deepEqual(container.resources, was.resources)) return
      const at = path.index(i).child('resources')
      if (removed(container.resources?.limits, was.resources?.limits)) errs.push(forbidden(at.child('limits'), 'resource limits cannot be removed'))
      if (removed(container.resources?.requests, was.resources?.requests)) errs.push(forbidden(at.child('requests'), 'resource requests cannot be removed'))
    })
  visit(spec.containers, before.containers, SPEC.child('containers'))
  visit(spec.initContainers, before.initContainers, SPEC.child('initContainers'))
  const pairs: [Container | undefined, Container | undefined][] = [
    ...spec.containers.map((c, i): [Container, Container | undefined] => [c, before.containers[i]]),
    ...(spec.initContainers ?? []).map((c, i): [Container, Container | undefined] => [c, before.initContainers?.[i]]),
  ]
  const fixed = pairs.every(([a, b]) => sameOthers(a?.resources?.limits, b?.resources?.limits) && sameOthers(a?.resources?.requests, b?.resources?.requests))
  const podFixed = sameOthers(spec.resources?.limits, before.resources?.limits) && sameOthers(spec.resources?.requests, before.resources?.requests)
  if (!fixed || !podFixed) errs.push(forbidden(SPEC, 'only cpu and memory resources are mutable'))
  else if (!options.isFeatureEnabled('InPlacePodVerticalScalingInitContainers') && initChanged(spec, before)) {
    errs.push(forbidden(SPEC.child('initContainers'), 'resources for non-sidecar init containers are immutable'))
  }
  return errs
}

function initChanged(spec: PodSpec, before: PodSpec): boolean {
  return (spec.initContainers ?? []).some((c, i) => !isSidecar(c) && !deepEqual(c.resources, before.initContainers?.[i]?.resources))
}

/** The old Pod with only what a resize may bring from the new one. */
export function resizedPod(pod: Pod, old: Pod): PodSpec {
  const spec = deepCopy(old.spec as PodSpec)
  const take = (to: Container[] | undefined, from: readonly Container[] | undefined) => {
    for (const container of to ?? []) {
      const wanted = from?.find((c) => c.name === container.name)
      if (!wanted) continue
      container.resources = wanted.resources
      if (wanted.resizePolicy === undefined) delete container.resizePolicy
      else container.resizePolicy = wanted.resizePolicy
    }
  }
  take(spec.containers, pod.spec?.containers)
  take(spec.initContainers, pod.spec?.initContainers)
  if (pod.spec?.resources === undefined) delete spec.resources
  else spec.resources = pod.spec.resources
  return spec
}

/** pods/ephemeralcontainers: containers may be added, never changed or taken away (KEP-277). */
export function validateEphemeralUpdate(pod: Pod, old: Pod, options: PodValidationOptions): ErrorList {
  const errs = [...validatePodMetadataAndSpec(pod, options), ...validateAnnotationUpdate(pod, old)]
  if (isMirrorPod(old)) return [...errs, forbidden(wholeObject, 'static pods do not support ephemeral containers')]
  const now = new Map((pod.spec?.ephemeralContainers ?? []).map((c): [string, EphemeralContainer] => [c.name, c]))
  for (const container of old.spec?.ephemeralContainers ?? []) {
    const next = now.get(container.name)
    const what = next === undefined ? 'removed' : deepEqual(next, container) ? '' : 'changed'
    if (what === '') continue
    const difference = next ? specDifference('EphemeralContainer', container, next) : ''
    errs.push(forbidden(SPEC.child('ephemeralContainers'), `existing ephemeral containers ${quote(container.name)} may not be ${what}\n${difference}`))
  }
  return errs
}
