import { type ErrorList, type FieldPath, forbidden, invalid, required } from '../field.ts'
import type { LabelSelector } from '../meta/v1/types.generated.ts'
import { isLabelValue, isQualifiedName } from './names.ts'

export function validateLabelName(name: string, path: FieldPath): ErrorList {
  return isQualifiedName(name).map((m) => invalid(path, name, m))
}

/** Keys in sorted order, so that the errors of a map come in one order. */
export function sortedKeys(map: Readonly<Record<string, unknown>> | undefined): string[] {
  return map ? Object.keys(map).sort() : []
}

export function validateLabels(labels: Readonly<Record<string, string>> | undefined, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  for (const key of sortedKeys(labels)) {
    const value = (labels as Record<string, string>)[key] as string
    for (const m of isQualifiedName(key)) errs.push(invalid(path, key, m))
    for (const m of isLabelValue(value)) errs.push(invalid(path, value, m))
  }
  return errs
}

export interface LabelSelectorOptions {
  /** Values that are no label values may stay (objects stored before the rule). @default false */
  allowInvalidValues?: boolean
}

export function validateLabelSelector(selector: LabelSelector | undefined, path: FieldPath, options: LabelSelectorOptions = {}): ErrorList {
  if (!selector) return []
  const errs = validateLabels(selector.matchLabels, path.child('matchLabels'))
  selector.matchExpressions?.forEach((requirement, i) => {
    const at = path.child('matchExpressions').index(i)
    const values = requirement.values ?? []
    switch (requirement.operator as string) {
      case 'In':
      case 'NotIn':
        if (values.length === 0) errs.push(required(at.child('values'), "must be specified when `operator` is 'In' or 'NotIn'"))
        break
      case 'Exists':
      case 'DoesNotExist':
        if (values.length > 0) errs.push(forbidden(at.child('values'), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
        break
      default:
        errs.push(invalid(at.child('operator'), requirement.operator, 'not a valid selector operator'))
    }
    errs.push(...validateLabelName(requirement.key, at.child('key')))
    if (!options.allowInvalidValues) {
      values.forEach((value, j) => {
        for (const m of isLabelValue(value)) errs.push(invalid(at.child('values').index(j), value, m))
      })
    }
  })
  return errs
}
