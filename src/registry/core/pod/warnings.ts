import type { NodeSelectorTerm, Pod, PodSpec, PodTemplateSpec, ResourceList, Volume } from '../../../api/core/v1/types.generated.ts'
import { FieldPath } from '../../../apimachinery/field.ts'
import type { ObjectMeta } from '../../../apimachinery/meta/v1/types.generated.ts'
import { quote } from '../../../apimachinery/quote.ts'
import { isDNS1123Label, isLabelValue, sortedKeys } from '../../../apimachinery/validation/index.ts'
import { deepEqual } from '../../../base/deep-freeze.ts'
import { parseAmount } from '../../../component-helpers/amounts.ts'
import { ipWarnings } from '../../address-warnings.ts'
import { containerWarnings, portWarnings } from './container-warnings.ts'
import { overlapWarnings } from './volume-overlap.ts'

const LABELS: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'failure-domain.beta.kubernetes.io/region': 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone': 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  'beta.kubernetes.io/instance-type': 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  'node-role.kubernetes.io/master': 'use "node-role.kubernetes.io/control-plane" instead',
}

const SELECTOR_LABELS: Readonly<Record<string, string>> = { ...LABELS, 'app.kubernetes.io/created-by': 'deprecated since v1.9' }

const ANNOTATIONS: readonly (readonly [key: string, prefix: boolean, text: string])[] = [
  ['scheduler.alpha.kubernetes.io/critical-pod', false, 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ['scheduler.alpha.kubernetes.io/preferAvoidPods', false, 'deprecated since v1.22; use Taints and Tolerations instead'],
  ['seccomp.security.alpha.kubernetes.io/pod', false, 'non-functional in v1.27+; use the "seccompProfile" field instead'],
  ['container.seccomp.security.alpha.kubernetes.io/', true, 'non-functional in v1.27+; use the "seccompProfile" field instead'],
  ['container.apparmor.security.beta.kubernetes.io/', true, 'deprecated since v1.30; use the "appArmorProfile" field instead'],
  ['security.alpha.kubernetes.io/sysctls', false, 'non-functional in v1.11+; use the "sysctls" field instead'],
  ['security.alpha.kubernetes.io/unsafe-sysctls', false, 'non-functional in v1.11+; use the "sysctls" field instead'],
]

/** Volume field, the name messages use for it, and what became of it. */
export const DEPRECATED_VOLUMES: readonly (readonly [field: keyof Volume, shown: string, text: string])[] = [
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
]

/** What the text says of an old label key; with `is` between for places that name the key in the text. */
export function deprecatedLabel(key: string): string | undefined {
  return Object.hasOwn(LABELS, key) ? LABELS[key] : undefined
}

function termWarnings(term: NodeSelectorTerm, path: FieldPath, values: boolean): string[] {
  return (term.matchExpressions ?? []).flatMap((requirement, i) => {
    const at = path.child('matchExpressions').index(i)
    const text = deprecatedLabel(requirement.key)
    const out = text ? [`${at.child('key')}: ${requirement.key} is ${text}`] : []
    if (values) {
      requirement.values?.forEach((value, j) => {
        for (const m of isLabelValue(value)) out.push(`${at.child('values').index(j)}: ${value} is invalid, ${m}`)
      })
    }
    return out
  })
}

function selectorWarnings(selector: { matchLabels?: Record<string, string>; matchExpressions?: { key: string }[] } | undefined, path: FieldPath): string[] {
  const out: string[] = []
  const text = (key: string) => (Object.hasOwn(SELECTOR_LABELS, key) ? SELECTOR_LABELS[key] : undefined)
  selector?.matchExpressions?.forEach(({ key }, i) => {
    if (text(key)) out.push(`${path.child('matchExpressions').index(i).child('key')}: ${key} is ${text(key)}`)
  })
  for (const key of sortedKeys(selector?.matchLabels)) if (text(key)) out.push(`${path.child('matchLabels').child(key)}: ${text(key)}`)
  return out
}

function affinityWarnings(spec: PodSpec, path: FieldPath): string[] {
  const out: string[] = []
  const at = path.child('affinity', 'nodeAffinity')
  const node = spec.affinity?.nodeAffinity
  node?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms?.forEach((term, i) => {
    out.push(...termWarnings(term, at.child('requiredDuringSchedulingIgnoredDuringExecution', 'nodeSelectorTerms').index(i), false))
  })
  node?.preferredDuringSchedulingIgnoredDuringExecution?.forEach(({ preference }, i) => {
    out.push(...termWarnings(preference, at.child('preferredDuringSchedulingIgnoredDuringExecution').index(i).child('preference'), true))
  })
  for (const side of ['podAffinity', 'podAntiAffinity'] as const) {
    const own = path.child('affinity', side)
    const term = (selector: Parameters<typeof selectorWarnings>[0], place: FieldPath) => {
      if (!selector) out.push(`${place.child('labelSelector')}: a null labelSelector results in matching no pod`)
      else out.push(...selectorWarnings(selector, place.child('labelSelector')))
    }
    const terms = spec.affinity?.[side]
    terms?.requiredDuringSchedulingIgnoredDuringExecution?.forEach((t, i) => {
      term(t.labelSelector, own.child('requiredDuringSchedulingIgnoredDuringExecution').index(i))
    })
    terms?.preferredDuringSchedulingIgnoredDuringExecution?.forEach((t, i) => {
      term(t.podAffinityTerm.labelSelector, own.child('preferredDuringSchedulingIgnoredDuringExecution').index(i).child('podAffinityTerm'))
    })
  }
  return out
}

function annotationWarnings(annotations: Record<string, string> | undefined, path: FieldPath): string[] {
  const out: string[] = []
  for (const [known, prefix, text] of ANNOTATIONS) {
    for (const key of sortedKeys(annotations)) if (prefix ? key.startsWith(known) : key === known) out.push(`${path.key(key)}: ${text}`)
  }
  return out
}

/** Bytes cannot be split. */
export function fractionalBytes(list: ResourceList | undefined, names: readonly string[], path: FieldPath): string[] {
  const out: string[] = []
  for (const name of names) {
    const quantity = list?.[name]
    if (quantity !== undefined && !parseAmount(quantity).isInteger)
      out.push(`${path.key(name)}: fractional byte value ${quote(quantity)} is invalid, must be an integer`)
  }
  return out
}

/** Warnings on a spec and the metadata beside it, as of a Pod or a template at `path`. */
export function podSpecWarnings(spec: PodSpec, meta: ObjectMeta | undefined, path: FieldPath, metaPath: FieldPath): string[] {
  const out: string[] = []
  for (const key of sortedKeys(spec.nodeSelector)) {
    const text = deprecatedLabel(key)
    if (text) out.push(`${path.child('nodeSelector').key(key)}: ${text}`)
  }
  out.push(...affinityWarnings(spec, path))
  spec.topologySpreadConstraints?.forEach((constraint, i) => {
    const at = path.child('topologySpreadConstraints').index(i)
    const text = deprecatedLabel(constraint.topologyKey)
    if (text) out.push(`${at.child('topologyKey')}: ${constraint.topologyKey} is ${text}`)
    if (!constraint.labelSelector) out.push(`${at.child('labelSelector')}: a null labelSelector results in matching no pod`)
    else out.push(...selectorWarnings(constraint.labelSelector, at.child('labelSelector')))
  })
  out.push(...annotationWarnings(meta?.annotations, metaPath.child('annotations')))
  out.push(...volumeWarnings(spec, path.child('volumes')))
  const aliases = new Set<string>()
  spec.hostAliases?.forEach(({ ip }, i) => {
    if (aliases.has(ip)) out.push(`${path.child('hostAliases').index(i).child('ip')}: duplicate ip ${quote(ip)}`)
    aliases.add(ip)
  })
  const secrets = new Set<string>()
  spec.imagePullSecrets?.forEach(({ name = '' }, i) => {
    const at = path.child('imagePullSecrets').index(i).child('name')
    if (name === '') out.push(`${at}: invalid empty name ""`)
    else if (secrets.has(name)) out.push(`${at}: duplicate name ${quote(name)}`)
    secrets.add(name)
  })
  out.push(...containerWarnings(spec, path), ...portWarnings(spec, path))
  out.push(...fractionalBytes(spec.overhead, ['memory', 'ephemeral-storage'], path.child('overhead')))
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) {
    out.push(`${path.child('terminationGracePeriodSeconds')}: must be >= 0; negative values are invalid and will be treated as 1`)
  }
  spec.dnsConfig?.nameservers?.forEach((ip, i) => {
    out.push(...ipWarnings(ip, path.child('dnsConfig', 'nameservers').index(i)))
  })
  spec.hostAliases?.forEach(({ ip }, i) => {
    out.push(...ipWarnings(ip, path.child('hostAliases').index(i).child('ip')))
  })
  return out
}

function volumeWarnings(spec: PodSpec, path: FieldPath): string[] {
  const out: string[] = []
  spec.volumes?.forEach((volume, i) => {
    const at = path.index(i)
    for (const [name, shown, text] of DEPRECATED_VOLUMES) if (volume[name]) out.push(`${at.child(shown)}: ${text}`)
    const claim = volume.ephemeral?.volumeClaimTemplate?.spec
    if (claim) {
      const own = at.child('ephemeral', 'volumeClaimTemplate', 'spec', 'resources')
      out.push(
        ...fractionalBytes(claim.resources?.requests, ['storage'], own.child('requests')),
        ...fractionalBytes(claim.resources?.limits, ['storage'], own.child('limits')),
      )
    }
    out.push(...overlapWarnings(volume))
  })
  return out
}

const METADATA = FieldPath.root('metadata')

export function podWarnings(pod: Pod): string[] {
  const out: string[] = []
  const name = pod.metadata.name ?? ''
  const messages = isDNS1123Label(name)
  if (name !== '' && messages.length > 0) {
    out.push(`metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${messages.join(' ')}]`)
  }
  return [...(pod.spec ? podSpecWarnings(pod.spec, pod.metadata, FieldPath.root('spec'), METADATA) : []), ...out]
}

/** An update warns only of what it may have changed. */
export function podUpdateWarnings(pod: Pod, old: Pod): string[] {
  if (!pod.spec || deepEqual(pod.spec, old.spec)) return []
  return podSpecWarnings(pod.spec, pod.metadata, FieldPath.root('spec'), METADATA)
}

/** @param old on update: an unchanged template warns of nothing */
export function templateWarnings(template: PodTemplateSpec | undefined, old: PodTemplateSpec | undefined, path: FieldPath): string[] {
  if (!template?.spec || (old && deepEqual(template, old))) return []
  return podSpecWarnings(template.spec, template.metadata, path.child('spec'), path.child('metadata'))
}
