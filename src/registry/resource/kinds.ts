import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { claimColumns, claimTemplateColumns, deviceClassColumns, deviceTaintRuleColumns, resourceSliceColumns } from './columns.ts'

const group = 'resource.k8s.io'

export const resourceKinds = [
  { group, resource: 'deviceclasses', storage: { group, version: 'v1', kind: 'DeviceClass' }, strategy: {}, columns: deviceClassColumns },
  { group, resource: 'resourceclaims', storage: { group, version: 'v1', kind: 'ResourceClaim' }, strategy: {}, columns: claimColumns },
  { group, resource: 'resourceclaimtemplates', storage: { group, version: 'v1', kind: 'ResourceClaimTemplate' }, strategy: {}, columns: claimTemplateColumns },
  {
    group,
    resource: 'resourceslices',
    storage: { group, version: 'v1', kind: 'ResourceSlice' },
    strategy: {
      selectableFieldLabels: ['spec.nodeName', 'spec.driver'],
      selectableFields: (slice: { spec?: { nodeName?: string; driver?: string } }) => ({
        'spec.nodeName': slice.spec?.nodeName ?? '',
        'spec.driver': slice.spec?.driver ?? '',
      }),
    },
    columns: resourceSliceColumns,
  },
  { group, resource: 'devicetaintrules', storage: { group, version: 'v1alpha3', kind: 'DeviceTaintRule' }, strategy: {}, columns: deviceTaintRuleColumns },
] as unknown as KindRegistration[]
