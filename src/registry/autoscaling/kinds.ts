import type { autoscalingv2 } from '../../api/index.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { deepCopy } from '../../base/index.ts'
import { autoscalerColumns } from './columns.ts'
import { convertAutoscaler } from './conversion.ts'
import { validateAutoscaler, validateAutoscalerStatus } from './validation.ts'

type Autoscaler = autoscalingv2.HorizontalPodAutoscaler

const UP_POLICIES = [
  { type: 'Pods', value: 4, periodSeconds: 15 },
  { type: 'Percent', value: 100, periodSeconds: 15 },
]
const DOWN_POLICIES = [{ type: 'Percent', value: 100, periodSeconds: 15 }]

function defaults({ spec }: Autoscaler): void {
  spec.minReplicas ??= 1
  if (!spec.metrics?.length) spec.metrics = [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }]
  const { behavior } = spec
  if (!behavior) return
  behavior.scaleUp = { stabilizationWindowSeconds: 0, selectPolicy: 'Max', ...behavior.scaleUp }
  behavior.scaleUp.policies ??= UP_POLICIES.map((p) => ({ ...p }))
  behavior.scaleDown = { selectPolicy: 'Max', ...behavior.scaleDown }
  behavior.scaleDown.policies ??= DOWN_POLICIES.map((p) => ({ ...p }))
}

const autoscalerKind: KindRegistration<Autoscaler> = {
  group: 'autoscaling',
  resource: 'horizontalpodautoscalers',
  storage: { group: 'autoscaling', version: 'v2', kind: 'HorizontalPodAutoscaler' },
  convert: convertAutoscaler,
  strategy: {
    generation: 'none',
    defaults,
    validate: (item) => validateAutoscaler(item),
    validateUpdate: validateAutoscaler,
  },
  status: {
    prepareForUpdate(item, old) {
      item.spec = deepCopy(old.spec)
    },
    validateUpdate: validateAutoscalerStatus,
  },
  columns: autoscalerColumns,
}

export const autoscalingKinds = [autoscalerKind] as KindRegistration[]
