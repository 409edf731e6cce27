import type { resourcev1, resourcev1alpha3 } from '../../api/index.ts'
import { humanDuration } from '../../apimachinery/duration.ts'
import { namedColumns } from '../named-age.ts'

export const deviceClassColumns = namedColumns<resourcev1.DeviceClass>('Age', () => [])
export const claimTemplateColumns = namedColumns<resourcev1.ResourceClaimTemplate>('Age', () => [])

export const claimColumns = namedColumns<resourcev1.ResourceClaim>('State|Age', ({ metadata, status }) => {
  const states: string[] = []
  if (metadata.deletionTimestamp) states.push('deleted')
  if (!status?.allocation) {
    if (!metadata.deletionTimestamp) states.push('pending')
  } else {
    states.push('allocated')
    if (status.reservedFor?.length) states.push('reserved')
  }
  return [states.join(',')]
})

export const resourceSliceColumns = namedColumns<resourcev1.ResourceSlice>('Node|Driver|Pool|Age', ({ spec }) => [
  spec.nodeName ?? '',
  spec.driver,
  spec.pool?.name ?? '',
])

export const deviceTaintRuleColumns = namedColumns<resourcev1alpha3.DeviceTaintRule>('Key|Value|Effect|TimeAdded|Age', ({ spec }, now) => {
  const { taint } = spec
  return [taint?.key ?? '', taint?.value ?? '', taint?.effect ?? '', taint?.timeAdded ? humanDuration(now - Date.parse(taint.timeAdded)) : '']
})
