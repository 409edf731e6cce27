import type { flowcontrolv1 } from '../../api/index.ts'
import { NONE, namedColumns } from '../named-age.ts'

export const flowSchemaColumns = namedColumns<flowcontrolv1.FlowSchema>(
  'PriorityLevel|MatchingPrecedence|DistinguisherMethod|Age|MissingPL',
  ({ spec, status }) => [
    spec?.priorityLevelConfiguration?.name ?? '',
    spec?.matchingPrecedence ?? 0,
    spec?.distinguisherMethod?.type ?? NONE,
    status?.conditions?.find((c) => c.type === 'Dangling')?.status ?? '?',
  ],
)

export const priorityLevelColumns = namedColumns<flowcontrolv1.PriorityLevelConfiguration>(
  'Type|NominalConcurrencyShares|Queues|HandSize|QueueLengthLimit|Age',
  ({ spec }) => {
    const queuing = spec?.limited?.limitResponse?.queuing
    return [
      spec?.type ?? '',
      spec?.limited?.nominalConcurrencyShares ?? NONE,
      queuing?.queues ?? NONE,
      queuing?.handSize ?? NONE,
      queuing?.queueLengthLimit ?? NONE,
    ]
  },
)
