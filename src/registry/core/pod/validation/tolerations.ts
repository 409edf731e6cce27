import type { Toleration } from '../../../../api/core/v1/types.generated.ts'
import { type ErrorList, type FieldPath, invalid, notSupported } from '../../../../apimachinery/field.ts'
import { isLabelValue, validateLabelName } from '../../../../apimachinery/validation/index.ts'
import type { PodValidationOptions } from './options.ts'

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

export function validateTolerations(tolerations: readonly Toleration[] | undefined, path: FieldPath, options: PodValidationOptions): ErrorList {
  return (tolerations ?? []).flatMap((toleration, i) => validateToleration(toleration, path.index(i), options))
}

function validateToleration(toleration: Toleration, path: FieldPath, options: PodValidationOptions): ErrorList {
  const errs: ErrorList = []
  const { key = '', operator = '', value = '', effect = '' } = toleration
  if (key !== '') errs.push(...validateLabelName(key, path.child('key')))
  if (key === '' && operator !== 'Exists') {
    errs.push(invalid(path.child('operator'), operator, 'operator must be Exists when `key` is empty, which means "match all values and all keys"'))
  }
  if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute') {
    errs.push(invalid(path.child('effect'), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
  }
  switch (operator as string) {
    case '':
    case 'Equal': {
      const [message] = isLabelValue(value)
      if (message !== undefined) errs.push(invalid(path.child('operator'), value, isLabelValue(value).join(';')))
      break
    }
    case 'Exists':
      if (value !== '') errs.push(invalid(path.child('operator'), value, "value must be empty when `operator` is 'Exists'"))
      break
    case 'Gt':
    case 'Lt':
      if (options.isFeatureEnabled('TaintTolerationComparisonOperators')) {
        if (!/^(0|-?[1-9][0-9]{0,18})$/.test(value)) {
          errs.push(invalid(path.child('value'), value, 'must be a canonical decimal integer'))
        }
        break
      }
      errs.push(notSupported(path.child('operator'), operator, ['Equal', 'Exists', 'Lt', 'Gt']))
      break
    default:
      errs.push(
        notSupported(
          path.child('operator'),
          operator,
          options.isFeatureEnabled('TaintTolerationComparisonOperators') ? ['Equal', 'Exists', 'Lt', 'Gt'] : ['Equal', 'Exists'],
        ),
      )
  }
  if (effect !== '' && !EFFECTS.includes(effect)) errs.push(notSupported(path.child('effect'), effect, EFFECTS))
  return errs
}
