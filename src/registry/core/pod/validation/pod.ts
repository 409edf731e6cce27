import type { Pod, PodSpec, PodTemplateSpec } from '../../../../api/core/v1/types.generated.ts'
import { type ErrorList, FieldPath, forbidden, invalid } from '../../../../apimachinery/field.ts'
import { sortedKeys, validateAnnotations, validateLabels } from '../../../../apimachinery/validation/index.ts'
import { validateImagesOfPod } from './containers.ts'
import type { PodValidationOptions } from './options.ts'
import { validatePodSpec } from './pod-spec.ts'

const MIRROR = 'kubernetes.io/config.mirror'
const APPARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/'
const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost'

/** Annotations that Pods and templates give a meaning to. */
export function validatePodAnnotations(
  annotations: Record<string, string> | undefined,
  spec: PodSpec,
  path: FieldPath,
  options: PodValidationOptions,
): ErrorList {
  const errs: ErrorList = []
  if (!annotations) return errs
  const mirror = annotations[MIRROR]
  if (mirror !== undefined && !spec.nodeName) errs.push(invalid(path.key(MIRROR), mirror, 'must set spec.nodeName if mirror pod annotation is set'))
  const cost = annotations[DELETION_COST]
  if (cost !== undefined && options.isFeatureEnabled('PodDeletionCost') && !isInt32(cost))
    errs.push(invalid(path.key(DELETION_COST), cost, 'must be a 32bit integer'))
  const containers = new Set([...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])].map((c) => c.name))
  for (const key of sortedKeys(annotations)) {
    if (!key.startsWith(APPARMOR_PREFIX)) continue
    const container = key.slice(APPARMOR_PREFIX.length)
    const profile = annotations[key] as string
    if (!containers.has(container)) errs.push(invalid(path.key(key), container, 'container not found'))
    if (!isAppArmorProfile(profile)) errs.push(invalid(path.key(key), profile, `invalid AppArmor profile name: ${JSON.stringify(profile)}`))
  }
  return errs
}

const isAppArmorProfile = (profile: string): boolean =>
  profile === '' || profile === 'runtime/default' || profile === 'unconfined' || profile.startsWith('localhost/')

function isInt32(text: string): boolean {
  if (!/^(?:0|[+-]?[1-9][0-9]{0,9})$/.test(text) || text.startsWith('+')) return false
  const n = Number(text)
  return n >= -2147483648 && n <= 2147483647
}

/** What holds for a Pod's annotations and spec at every moment; metadata itself is checked by the generic store. */
export function validatePodMetadataAndSpec(pod: Pod, options: PodValidationOptions): ErrorList {
  const spec = pod.spec
  const path = FieldPath.root('spec')
  if (!spec) return []
  const errs = validatePodAnnotations(pod.metadata.annotations, spec, FieldPath.root('metadata', 'annotations'), options)
  errs.push(...validatePodSpec(spec, pod.metadata, path, options))
  if (!spec.serviceAccountName) {
    spec.volumes?.forEach((volume, i) => {
      volume.projected?.sources?.forEach((source, j) => {
        if (!source.serviceAccountToken) return
        const at = path.child('volumes').index(i).child('projected', 'sources').index(j).child('serviceAccountToken')
        errs.push(forbidden(at, 'must not be specified when serviceAccountName is not set'))
      })
    })
  }
  errs.push(...validateImagesOfPod(spec.containers, path.child('containers')), ...validateImagesOfPod(spec.initContainers, path.child('initContainers')))
  return errs
}

export function validatePodCreate(pod: Pod, options: PodValidationOptions): ErrorList {
  const errs = validatePodMetadataAndSpec(pod, options)
  const path = FieldPath.root('spec')
  if (pod.spec?.ephemeralContainers?.length) errs.push(forbidden(path.child('ephemeralContainers'), 'cannot be set on create'))
  if (pod.spec?.nodeName && pod.spec.schedulingGates?.length) {
    errs.push(forbidden(path.child('nodeName'), 'cannot be set until all schedulingGates have been cleared'))
  }
  return errs
}

/** A template: labels, annotations and spec. */
export function validatePodTemplateSpec(template: PodTemplateSpec, path: FieldPath, options: PodValidationOptions): ErrorList {
  const errs = validateLabels(template.metadata?.labels, path.child('labels'))
  errs.push(...validateAnnotations(template.metadata?.annotations, path.child('annotations')))
  const spec = template.spec ?? { containers: [] }
  errs.push(...validatePodAnnotations(template.metadata?.annotations, spec, path.child('annotations'), options))
  errs.push(...validatePodSpec(spec, undefined, path.child('spec'), options))
  if (spec.ephemeralContainers?.length) errs.push(forbidden(path.child('spec', 'ephemeralContainers'), 'ephemeral containers not allowed in pod template'))
  return errs
}
