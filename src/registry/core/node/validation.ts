import type { corev1 } from '../../../api/index.ts'
import { duplicate, type ErrorList, FieldPath, forbidden, invalid, notSupported, required } from '../../../apimachinery/field.ts'
import { isCIDR, isLabelValue, isQualifiedName, NON_NEGATIVE, parseCIDR, sortedKeys } from '../../../apimachinery/validation/index.ts'
import { deepEqual } from '../../../base/index.ts'
import { parseAmount } from '../../../component-helpers/amounts.ts'

type Node = corev1.Node

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']
/** Resources of which only whole numbers make sense: those of a vendor's own. */
const isExtended = (name: string) => name.includes('/') && !name.includes('kubernetes.io/')

export function validateNode(node: Node): ErrorList {
  const errors: ErrorList = [
    ...validateTaints(node.spec.taints),
    ...validateAvoidPods(node),
    ...validatePodCIDRs(node.spec.podCIDRs),
    ...validateResources(node),
    ...validateFeatures(node),
  ]
  return errors
}

function validatePodCIDRs(cidrs: readonly string[] | undefined): ErrorList {
  if (!cidrs?.length) return []
  const path = FieldPath.root('spec', 'podCIDRs')
  const errors = cidrs.flatMap((c, i) => isCIDR(c).map((text) => invalid(path.index(i), c, text)))
  const families = cidrs.map((c) => parseCIDR(c)?.address.family)
  if (errors.length === 0 && (cidrs.length > 2 || (cidrs.length === 2 && families[0] === families[1])))
    errors.push(invalid(path, cidrs, 'may specify no more than one CIDR for each IP family'))
  return errors
}

export function validateTaints(taints: readonly corev1.Taint[] | undefined): ErrorList {
  const path = FieldPath.root('metadata', 'taints')
  const errors: ErrorList = []
  const seen = new Set<string>()
  for (const [i, taint] of (taints ?? []).entries()) {
    const at = path.index(i)
    for (const text of isQualifiedName(taint.key)) errors.push(invalid(at.child('key'), taint.key, text))
    for (const text of isLabelValue(taint.value ?? '')) errors.push(invalid(at.child('value'), taint.value, text))
    if (!taint.effect) errors.push(required(at.child('effect')))
    else if (!EFFECTS.includes(taint.effect)) errors.push(notSupported(at.child('effect'), taint.effect, EFFECTS))
    const key = `${taint.key}\0${taint.effect}`
    if (seen.has(key)) {
      const shown = { Key: taint.key, Value: taint.value ?? '', Effect: taint.effect, TimeAdded: taint.timeAdded ?? null }
      const error = duplicate(at, shown)
      errors.push({ ...error, body: `${error.body}: taints must be unique by key and effect pair` })
    }
    seen.add(key)
  }
  return errors
}

const AVOID_PODS = 'scheduler.alpha.kubernetes.io/preferAvoidPods'

function validateAvoidPods(node: Node): ErrorList {
  const text = node.metadata.annotations?.[AVOID_PODS]
  if (!text) return []
  try {
    JSON.parse(text)
    return []
  } catch {
    const bad = /[^\s{]/.exec(text)?.[0] ?? ''
    const why =
      text.trimStart().startsWith('{') && bad !== '"' ? `invalid character '${bad}' looking for beginning of object key string` : 'unexpected end of JSON input'
    return [invalid(FieldPath.root('metadata', 'annotations', 'AvoidPods'), AVOID_PODS, why)]
  }
}

function validateResources(node: Node): ErrorList {
  const errors: ErrorList = []
  for (const field of ['capacity', 'allocatable'] as const) {
    const list = node.status?.[field]
    for (const name of sortedKeys(list)) {
      const path = FieldPath.root('status', field, name)
      const amount = parseAmount(list?.[name])
      if (amount.nano < 0n) errors.push(invalid(path, list?.[name], NON_NEGATIVE))
      else if (isExtended(name) && !amount.isInteger) errors.push(invalid(path, list?.[name], 'must be an integer'))
    }
  }
  return errors
}

function validateFeatures(node: Node): ErrorList {
  const features = node.status?.declaredFeatures ?? []
  const path = FieldPath.root('status', 'declaredFeatures')
  return features.flatMap((f, i) => {
    const before = features[i - 1]
    if (before === undefined || before < f) return []
    return [before === f ? duplicate(path.index(i), f) : invalid(path.index(i), f, 'list must be sorted alphabetically')]
  })
}

export function validateNodeUpdate(node: Node, old: Node): ErrorList {
  const errors: ErrorList = [...validateAvoidPods(node), ...validateResources(node), ...validateFeatures(node)]
  if (!deepEqual(node.spec.taints ?? [], old.spec.taints ?? [])) {
    // Upstream checks them in two places, and causes tell both.
    const wrong = validateTaints(node.spec.taints)
    errors.push(...wrong, ...wrong)
  }
  const once = (path: string, what: string, changed: boolean) => {
    if (changed) errors.push(forbidden(FieldPath.root('spec', path), `node updates may not change ${what} except from "" to valid`))
  }
  if (!deepEqual(node.spec.podCIDRs ?? [], old.spec.podCIDRs ?? [])) {
    if (old.spec.podCIDRs?.length) once('podCIDRs', 'podCIDR', true)
    else errors.push(...validatePodCIDRs(node.spec.podCIDRs))
  }
  once('providerID', 'providerID', !!old.spec.providerID && node.spec.providerID !== old.spec.providerID)
  const addresses = node.status?.addresses ?? []
  for (const [i, a] of addresses.entries()) {
    if (addresses.findIndex((b) => b.type === a.type && b.address === a.address) < i)
      errors.push(duplicate(FieldPath.root('status', 'addresses').index(i), { Type: a.type, Address: a.address }))
  }
  return errors
}
