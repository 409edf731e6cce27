import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { flowSchemaColumns, priorityLevelColumns } from './columns.ts'

const group = 'flowcontrol.apiserver.k8s.io'

export const flowControlKinds = [
  { group, resource: 'flowschemas', storage: { group, version: 'v1', kind: 'FlowSchema' }, strategy: {}, columns: flowSchemaColumns },
  {
    group,
    resource: 'prioritylevelconfigurations',
    storage: { group, version: 'v1', kind: 'PriorityLevelConfiguration' },
    strategy: {},
    columns: priorityLevelColumns,
  },
] as unknown as KindRegistration[]
