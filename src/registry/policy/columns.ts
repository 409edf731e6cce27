import type { policyv1 } from '../../api/index.ts'
import { namedColumns } from '../named-age.ts'

const orNone = (value: number | string | undefined) => (value === undefined || value === null ? 'N/A' : String(value))

export const disruptionBudgetColumns = namedColumns<policyv1.PodDisruptionBudget>(
  'Min Available|Max Unavailable|Allowed Disruptions:integer|Age',
  ({ spec, status }) => [orNone(spec?.minAvailable), orNone(spec?.maxUnavailable), status?.disruptionsAllowed ?? 0],
)
