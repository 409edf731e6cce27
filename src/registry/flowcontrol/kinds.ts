import type { flowcontrolv1 } from '../../api/index.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { deepCopy } from '../../base/index.ts'
import { flowSchemaColumns, priorityLevelColumns } from './columns.ts'
import { validateFixedFlowSchema, validateFixedPriorityLevel } from './fixed.ts'
import { validateFlowSchema, validatePriorityLevel } from './validation.ts'

type FlowSchema = flowcontrolv1.FlowSchema
type PriorityLevel = flowcontrolv1.PriorityLevelConfiguration

const group = 'flowcontrol.apiserver.k8s.io'
const KEPT = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const

/** `/status` takes nothing of metadata but who owns which field. */
function keepAllButStatus(item: FlowSchema | PriorityLevel, old: FlowSchema | PriorityLevel): void {
  item.spec = deepCopy(old.spec) as never
  for (const field of KEPT) {
    if (old.metadata[field] === undefined) delete item.metadata[field]
    else item.metadata[field] = old.metadata[field] as never
  }
}

const flowSchemaKind: KindRegistration<FlowSchema> = {
  group,
  resource: 'flowschemas',
  storage: { group, version: 'v1', kind: 'FlowSchema' },
  strategy: {
    defaults({ spec }) {
      if (!spec) return
      if (!spec.matchingPrecedence) spec.matchingPrecedence = 1000
    },
    validate: (item) => [...validateFlowSchema(item), ...validateFixedFlowSchema(item)],
    validateUpdate: (item) => [...validateFlowSchema(item), ...validateFixedFlowSchema(item)],
  },
  status: { prepareForUpdate: keepAllButStatus },
  columns: flowSchemaColumns,
}

const priorityLevelKind: KindRegistration<PriorityLevel> = {
  group,
  resource: 'prioritylevelconfigurations',
  storage: { group, version: 'v1', kind: 'PriorityLevelConfiguration' },
  strategy: {
    defaults({ spec }) {
      if (spec?.exempt) {
        spec.exempt.nominalConcurrencyShares ??= 0
        spec.exempt.lendablePercent ??= 0
      }
      if (!spec?.limited) return
      const { limited } = spec
      limited.nominalConcurrencyShares ??= 30
      limited.lendablePercent ??= 0
      const queuing = limited.limitResponse?.queuing
      if (!queuing) return
      queuing.queues ||= 64
      queuing.handSize ||= 8
      queuing.queueLengthLimit ||= 50
    },
    validate: (item) => [...validatePriorityLevel(item), ...validateFixedPriorityLevel(item)],
    validateUpdate: (item) => [...validatePriorityLevel(item), ...validateFixedPriorityLevel(item)],
  },
  status: { prepareForUpdate: keepAllButStatus },
  columns: priorityLevelColumns,
}

export const flowControlKinds = [flowSchemaKind, priorityLevelKind] as KindRegistration[]
