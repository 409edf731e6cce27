import type { authorizationv1 } from '../../api/index.ts'
import { type ErrorList, FieldPath, invalid, notSupported, required } from '../../apimachinery/field.ts'
import { validateLabelName } from '../../apimachinery/validation/labels.ts'
import { deepEqual } from '../../base/index.ts'

type Spec = authorizationv1.SubjectAccessReviewSpec & authorizationv1.SelfSubjectAccessReviewSpec

const spec = FieldPath.root('spec')

export function validateSelfSubjectAccessReviewSpec(review: authorizationv1.SelfSubjectAccessReviewSpec): ErrorList {
  return validateTarget(review)
}

export function validateSubjectAccessReviewSpec(review: authorizationv1.SubjectAccessReviewSpec): ErrorList {
  const errors = validateTarget(review)
  if (!review.user && !review.groups?.length) errors.push(invalid(spec.child('user'), review.user ?? '', 'at least one of user or group must be specified'))
  return errors
}

export function validateLocalSubjectAccessReview(review: authorizationv1.LocalSubjectAccessReview, namespace: string): ErrorList {
  const errors = validateSubjectAccessReviewSpec(review.spec)
  const { resourceAttributes, nonResourceAttributes } = review.spec
  if (resourceAttributes && (resourceAttributes.namespace ?? '') !== namespace) {
    errors.push(invalid(spec.child('resourceAttributes').child('namespace'), resourceAttributes.namespace ?? '', 'must match metadata.namespace'))
  }
  if (nonResourceAttributes) errors.push(invalid(spec.child('nonResourceAttributes'), internal(nonResourceAttributes), 'disallowed on this kind of request'))
  return errors
}

/** Reviews carry no metadata of their own; managed fields that the server noted do not count. */
export function validateNoMetadata(metadata: object | undefined, namespace?: string): ErrorList {
  const { managedFields: _, ...rest } = (metadata ?? {}) as Record<string, unknown>
  const allowed = namespace === undefined ? {} : { namespace }
  if (deepEqual(rest, {}) || deepEqual(rest, allowed)) return []
  const text = namespace === undefined ? 'must be empty' : 'must be empty except for namespace'
  return [invalid(FieldPath.root('metadata'), metadata, text)]
}

function validateTarget({ resourceAttributes, nonResourceAttributes }: Spec): ErrorList {
  if (resourceAttributes && nonResourceAttributes) {
    return [invalid(spec.child('nonResourceAttributes'), internal(nonResourceAttributes), 'cannot be specified in combination with resourceAttributes')]
  }
  if (!resourceAttributes && !nonResourceAttributes) {
    return [invalid(spec.child('resourceAttributes'), undefined, 'exactly one of nonResourceAttributes or resourceAttributes must be specified')]
  }
  if (!resourceAttributes) return []
  const path = spec.child('resourceAttributes')
  return [
    ...validateSelector(resourceAttributes.fieldSelector, path.child('fieldSelector'), false),
    ...validateSelector(resourceAttributes.labelSelector, path.child('labelSelector'), true),
  ]
}

type Selector = authorizationv1.FieldSelectorAttributes | authorizationv1.LabelSelectorAttributes

function validateSelector(selector: Selector | undefined, path: FieldPath, labels: boolean): ErrorList {
  if (!selector) return []
  const { rawSelector, requirements } = selector
  const errors: ErrorList = []
  if (rawSelector && requirements?.length) errors.push(invalid(path.child('rawSelector'), rawSelector, 'may not specified at the same time as requirements'))
  if (!rawSelector && !requirements?.length) {
    errors.push(required(path.child('requirements'), `when ${path} is specified, requirements or rawSelector is required`))
  }
  for (const [i, requirement] of (requirements ?? []).entries()) {
    const at = path.child('requirements').index(i)
    if (labels) errors.push(...validateLabelName(requirement.key ?? '', at.child('key')))
    else if (!requirement.key) errors.push(required(at.child('key'), 'must be specified'))
    errors.push(...validateOperator(requirement, at, labels))
  }
  return errors
}

function validateOperator({ operator, values }: { operator?: string; values?: string[] }, path: FieldPath, labels: boolean): ErrorList {
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values?.length ? [] : [required(path.child('values'), "must be specified when `operator` is 'In' or 'NotIn'")]
    case 'Exists':
    case 'DoesNotExist':
      if (!values?.length) return []
      return [{ type: 'FieldValueForbidden', field: `${path}.values`, body: "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'" }]
    default:
      return labels ? [] : [notSupported(path.child('operator'), operator ?? '', ['DoesNotExist', 'Exists', 'In', 'NotIn'])]
  }
}

/** How Go prints the internal type. */
const internal = (a: authorizationv1.NonResourceAttributes) => ({ Path: a.path ?? '', Verb: a.verb ?? '' })
