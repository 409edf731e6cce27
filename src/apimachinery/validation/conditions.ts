import { duplicate, type ErrorList, type FieldPath, invalid, notSupported, required, tooLong } from '../field.ts'
import type { Condition } from '../meta/v1/types.generated.ts'
import { validateLabelName } from './labels.ts'
import { longerThan, regexMessage } from './messages.ts'

const reasonRe = /^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$/

/** The rules for `metav1.Condition` lists. */
export function validateConditions(conditions: readonly Condition[] | undefined, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const seen = new Set<string>()
  conditions?.forEach((condition, i) => {
    const at = path.index(i)
    if (seen.has(condition.type)) errs.push(duplicate(at.child('type'), condition.type))
    seen.add(condition.type)
    errs.push(...validateCondition(condition, at))
  })
  return errs
}

export function validateCondition(condition: Condition, path: FieldPath): ErrorList {
  const errs = validateLabelName(condition.type ?? '', path.child('type'))
  const status: string = condition.status ?? ''
  if (status !== 'True' && status !== 'False' && status !== 'Unknown') {
    errs.push(notSupported(path.child('status'), status, ['False', 'True', 'Unknown']))
  }
  if ((condition.observedGeneration ?? 0) < 0) {
    errs.push(invalid(path.child('observedGeneration'), condition.observedGeneration, 'must be greater than or equal to zero'))
  }
  if (!condition.lastTransitionTime) errs.push(required(path.child('lastTransitionTime')))
  const reason = condition.reason ?? ''
  if (reason === '') errs.push(required(path.child('reason')))
  else {
    if (longerThan(reason, 1024)) errs.push(tooLong(path.child('reason'), 1024))
    if (!reasonRe.test(reason)) {
      errs.push(
        invalid(
          path.child('reason'),
          reason,
          regexMessage(
            "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
            '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?',
            'my_name',
            'MY_NAME',
            'MyName',
            'ReasonA,ReasonB',
            'ReasonA:ReasonB',
          ),
        ),
      )
    }
  }
  if (longerThan(condition.message ?? '', 32768)) errs.push(tooLong(path.child('message'), 32768))
  return errs
}
