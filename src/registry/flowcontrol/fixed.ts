import type { flowcontrolv1 } from '../../api/index.ts'
import { type ErrorList, FieldPath, invalid } from '../../apimachinery/field.ts'
import { deepEqual } from '../../base/index.ts'
import { internalForm } from '../internal-form.ts'

type FlowSchema = flowcontrolv1.FlowSchema
type PriorityLevel = flowcontrolv1.PriorityLevelConfiguration

const SPEC = FieldPath.root('spec')
const everything = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }]
const everyURL = [{ verbs: ['*'], nonResourceURLs: ['*'] }]
const ofGroup = (name: string) => ({ kind: 'Group', group: { name } })

/** The objects without which nobody could be served; nobody may change them. */
const SCHEMAS: Readonly<Record<string, unknown>> = {
  exempt: {
    priorityLevelConfiguration: { name: 'exempt' },
    matchingPrecedence: 1,
    rules: [{ subjects: [ofGroup('system:masters')], resourceRules: everything, nonResourceRules: everyURL }],
  },
  'catch-all': {
    priorityLevelConfiguration: { name: 'catch-all' },
    matchingPrecedence: 10000,
    distinguisherMethod: { type: 'ByUser' },
    rules: [{ subjects: [ofGroup('system:unauthenticated'), ofGroup('system:authenticated')], resourceRules: everything, nonResourceRules: everyURL }],
  },
}
const CATCH_ALL_LEVEL = { type: 'Limited', limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' }, lendablePercent: 0 } }

export function validateFixedFlowSchema(item: FlowSchema): ErrorList {
  const name = item.metadata.name ?? ''
  if (!Object.hasOwn(SCHEMAS, name) || deepEqual(item.spec, SCHEMAS[name])) return []
  return [invalid(SPEC, internalForm('FlowSchemaSpec', item.spec ?? {}), `spec of '${name}' must equal the fixed value`)]
}

/** Of the exempt level the shares may change. */
export function validateFixedPriorityLevel(item: PriorityLevel): ErrorList {
  const name = item.metadata.name ?? ''
  const fixed =
    name === 'exempt' ? item.spec?.type === 'Exempt' && item.spec.limited === undefined : name === 'catch-all' ? deepEqual(item.spec, CATCH_ALL_LEVEL) : true
  if (fixed) return []
  const but = name === 'exempt' ? " except the 'spec.exempt' field" : ''
  return [invalid(SPEC, internalForm('PriorityLevelConfigurationSpec', item.spec ?? {}), `spec of '${name}'${but} must equal the fixed value`)]
}
