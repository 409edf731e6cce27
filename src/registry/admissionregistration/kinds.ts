import type { KindRegistration, TableColumns } from '../../apiserver/registry/strategy.ts'
import { bindingColumns, mutatingPolicyColumns, validatingPolicyColumns } from './columns.ts'
import { webhookKinds } from './webhooks.ts'

const group = 'admissionregistration.k8s.io'

const kind = (resource: string, version: string, name: string, columns: TableColumns<never>) => ({
  group,
  resource,
  storage: { group, version, kind: name },
  strategy: {},
  columns,
})

export const admissionRegistrationKinds = [
  ...webhookKinds,
  kind('validatingadmissionpolicies', 'v1', 'ValidatingAdmissionPolicy', validatingPolicyColumns),
  kind('validatingadmissionpolicybindings', 'v1', 'ValidatingAdmissionPolicyBinding', bindingColumns),
  kind('mutatingadmissionpolicies', 'v1beta1', 'MutatingAdmissionPolicy', mutatingPolicyColumns),
  kind('mutatingadmissionpolicybindings', 'v1beta1', 'MutatingAdmissionPolicyBinding', bindingColumns),
] as unknown as KindRegistration[]
