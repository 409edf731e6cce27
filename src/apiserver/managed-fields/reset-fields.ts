import { excludeFilter, type FieldFilter, onlyFilter } from '../../apimachinery/managed-fields/index.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'

const STATUS = excludeFilter('status')
const SPEC = excludeFilter('spec')
const SPEC_AND_LABELS = excludeFilter('spec', 'metadata.labels')
const SPEC_AND_METADATA = excludeFilter('spec', 'metadata')
const POD_STATUS = excludeFilter('spec', 'metadata.deletionTimestamp', 'metadata.ownerReferences')
const EPHEMERAL = onlyFilter('spec.ephemeralContainers')
const RESIZE = onlyFilter(
  'spec.containers.*.resources',
  'spec.containers.*.resizePolicy',
  'spec.initContainers.*.resources',
  'spec.initContainers.*.resizePolicy',
  'spec.resources',
)
const CUSTOM_STATUS = onlyFilter('status')

const METADATA_KEPT = new Set([
  'customresourcedefinitions.apiextensions.k8s.io',
  'apiservices.apiregistration.k8s.io',
  'flowschemas.flowcontrol.apiserver.k8s.io',
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io',
  'validatingadmissionpolicies.admissionregistration.k8s.io',
  'volumeattachments.storage.k8s.io',
  'resourceclaims.resource.k8s.io',
  'devicetaintrules.resource.k8s.io',
  'resourcepoolstatusrequests.resource.k8s.io',
  'podgroups.scheduling.k8s.io',
  'servicecidrs.networking.k8s.io',
  'storageversions.internal.apiserver.k8s.io',
  'storageversionmigrations.storagemigration.k8s.io',
])

/** Fields that an endpoint of a kind does not write, so nobody comes to own them by it. */
export function resetFieldsOf(endpoint: Endpoint, subresource: string): FieldFilter | undefined {
  const key = endpoint.gr.group === '' ? endpoint.gr.resource : `${endpoint.gr.resource}.${endpoint.gr.group}`
  if (subresource === '') {
    if (key === 'certificatesigningrequests.certificates.k8s.io') return STATUS
    return endpoint.subresources.has('status') ? STATUS : undefined
  }
  if (subresource === 'status') {
    if (endpoint.custom) return CUSTOM_STATUS
    if (key === 'pods') return POD_STATUS
    if (key === 'deployments.apps') return SPEC_AND_LABELS
    if (key === 'certificatesigningrequests.certificates.k8s.io') return SPEC
    return METADATA_KEPT.has(key) ? SPEC_AND_METADATA : SPEC
  }
  if (key === 'pods' && subresource === 'ephemeralcontainers') return EPHEMERAL
  if (key === 'pods' && subresource === 'resize') return RESIZE
  if (subresource === 'approval') return excludeFilter('spec', 'status.certificate')
  return undefined
}
