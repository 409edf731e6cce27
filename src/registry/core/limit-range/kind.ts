import type { corev1 } from '../../../api/index.ts'
import { duplicate, type ErrorList, FieldPath, forbidden, invalid, required } from '../../../apimachinery/field.ts'
import { isQualifiedName } from '../../../apimachinery/validation/names.ts'
import type { KindRegistration } from '../../../apiserver/registry/strategy.ts'
import { compareQuantities, parseAmount } from '../../../component-helpers/amounts.ts'
import { isOvercommitAllowed, validateResourceName } from '../pod/validation/resources.ts'
import { containerResourceNameErrors } from '../resource-names.ts'

type Item = corev1.LimitRangeItem
type Quantities = Readonly<Record<string, string>> | undefined

const TYPES = new Set(['Pod', 'Container', 'PersistentVolumeClaim'])
const shown = (text: string) => parseAmount(text).toString()

/** Of containers, limits default to the most, requests to the limit, then to the least. */
function defaults(range: corev1.LimitRange): void {
  for (const item of range.spec.limits ?? []) {
    if (item.type !== 'Container') continue
    const limit = { ...item.max, ...item.default }
    const request = { ...item.min, ...limit, ...item.defaultRequest }
    if (Object.keys(limit).length) item.default = limit
    if (Object.keys(request).length) item.defaultRequest = request
  }
}

function validate(range: corev1.LimitRange): ErrorList {
  const errors: ErrorList = []
  const seen = new Set<string>()
  for (const [i, item] of (range.spec.limits ?? []).entries()) {
    const path = FieldPath.root('spec', 'limits').index(i)
    errors.push(...typeErrors(item.type, path.child('type')))
    if (seen.has(item.type)) errors.push(duplicate(path.child('type'), item.type))
    seen.add(item.type)
    errors.push(...nameErrors(item, path), ...valueErrors(item, path))
  }
  return errors
}

function typeErrors(type: string, path: FieldPath): ErrorList {
  const bad = isQualifiedName(type)
  if (bad.length) return bad.map((text) => invalid(path, type, text))
  return type.includes('/') || TYPES.has(type) ? [] : [invalid(path, type, 'must be a standard limit type or fully qualified')]
}

function nameErrors(item: Item, path: FieldPath): ErrorList {
  const check = item.type === 'Pod' || item.type === 'Container' ? containerResourceNameErrors : validateResourceName
  const names = (field: keyof Item) => Object.keys((item[field] as Quantities) ?? {}).sort()
  const of = (field: keyof Item) => names(field).flatMap((name) => check(name, path.child(field).key(name)))
  const errors: ErrorList = [...of('max'), ...of('min')]
  if (item.type === 'Pod') {
    for (const field of ['default', 'defaultRequest'] as const) {
      if (names(field).length) errors.push(forbidden(path.child(field), "may not be specified when `type` is 'Pod'"))
    }
  } else {
    errors.push(...of('default'), ...of('defaultRequest'))
  }
  if (item.type === 'PersistentVolumeClaim' && item.min?.['storage'] === undefined && item.max?.['storage'] === undefined) {
    errors.push(required(path.child('limits'), 'either minimum or maximum storage value is required, but neither was provided'))
  }
  return [...errors, ...of('maxLimitRequestRatio')]
}

function valueErrors(item: Item, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  const names = new Set([item.max, item.min, item.default, item.defaultRequest, item.maxLimitRequestRatio].flatMap((list) => Object.keys(list ?? {})))
  for (const name of [...names].sort()) {
    const own = (list: Quantities) => (list && Object.hasOwn(list, name) ? list[name] : undefined)
    const [min, max, limit, request, ratio] = [item.min, item.max, item.default, item.defaultRequest, item.maxLimitRequestRatio].map(own)
    const above = (a: string | undefined, b: string | undefined) => a !== undefined && b !== undefined && compareQuantities(a, b) > 0
    const complain = (field: string, value: string | undefined, text: string) => errors.push(invalid(path.child(field).key(name), shown(value ?? ''), text))
    const text = (what: string, a: string | undefined, than: string, b: string | undefined) =>
      `${what} ${shown(a ?? '')} is greater than ${than} ${shown(b ?? '')}`
    if (above(min, max)) complain('min', min, text('min value', min, 'max value', max))
    if (above(min, request)) complain('defaultRequest', request, text('min value', min, 'default request value', request))
    if (above(request, max)) complain('defaultRequest', request, text('default request value', request, 'max value', max))
    if (above(request, limit)) complain('defaultRequest', request, text('default request value', request, 'default limit value', limit))
    if (above(min, limit)) complain('default', min, text('min value', min, 'default value', limit))
    if (above(limit, max)) complain('default', max, text('default value', limit, 'max value', max))
    if (ratio !== undefined && above('1', ratio)) complain('maxLimitRequestRatio', ratio, `ratio ${shown(ratio)} is less than 1`)
    if (ratio !== undefined && min !== undefined && max !== undefined) {
      const most = Number(parseAmount(max).nano) / Number(parseAmount(min).nano)
      if (Number(parseAmount(ratio).nano) / 1e9 > most)
        complain('maxLimitRequestRatio', ratio, `ratio ${shown(ratio)} is greater than max/min = ${most.toFixed(6)}`)
    }
    if (!isOvercommitAllowed(name) && limit !== undefined && request !== undefined && compareQuantities(limit, request) !== 0) {
      complain('defaultRequest', limit, `default value ${shown(limit)} must equal to defaultRequest value ${shown(request)} in ${name}`)
    }
  }
  return errors
}

export const limitRangeKind: KindRegistration<corev1.LimitRange> = {
  group: '',
  resource: 'limitranges',
  storage: { group: '', version: 'v1', kind: 'LimitRange' },
  strategy: {
    allowCreateOnUpdate: true,
    generation: 'none',
    defaults,
    validate,
    validateUpdate: validate,
    canonicalize(range) {
      if (range.spec.limits?.length === 0) range.spec.limits = null as unknown as Item[]
    },
  },
}
