import type { admissionregistrationv1 } from '../../api/index.ts'
import { formatSelector } from '../columns.ts'
import { namedColumns, UNSET } from '../named-age.ts'

type ParamKind = { apiVersion?: string; kind?: string } | undefined
type ParamRef = admissionregistrationv1.ParamRef | undefined

const paramKind = (kind: ParamKind) => (kind ? `${kind.apiVersion}/${kind.kind}` : UNSET)

function paramRef(ref: ParamRef): string {
  if (!ref) return UNSET
  if (ref.name) return `${ref.namespace || '*'}/${ref.name}`
  return ref.selector ? formatSelector(ref.selector) : UNSET
}

export const webhooksColumns = namedColumns<admissionregistrationv1.MutatingWebhookConfiguration>('Webhooks:integer|Age', (c) => [c.webhooks?.length ?? 0])

export const validatingPolicyColumns = namedColumns<admissionregistrationv1.ValidatingAdmissionPolicy>('Validations:integer|ParamKind|Age', ({ spec }) => [
  spec?.validations?.length ?? 0,
  paramKind(spec?.paramKind),
])

export const mutatingPolicyColumns = namedColumns<admissionregistrationv1.MutatingAdmissionPolicy>('Mutations:integer|ParamKind|Age', ({ spec }) => [
  spec?.mutations?.length ?? 0,
  paramKind(spec?.paramKind),
])

export const bindingColumns = namedColumns<admissionregistrationv1.ValidatingAdmissionPolicyBinding>('PolicyName|ParamRef|Age', ({ spec }) => [
  spec?.policyName ?? '',
  paramRef(spec?.paramRef),
])
