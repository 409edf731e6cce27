import type { ResourceInfo } from '../../api/scheme.ts'

const gone: Readonly<Record<string, string>> = {
  'admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy': 'deprecated in v1.35+, unavailable in v1.38+',
  'admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding': 'deprecated in v1.35+, unavailable in v1.38+',
  'certificates.k8s.io/v1alpha1 ClusterTrustBundle': 'deprecated in v1.34+, unavailable in v1.37+',
  'coordination.k8s.io/v1alpha2 LeaseCandidate': 'deprecated in v1.35+, unavailable in v1.38+',
  'coordination.k8s.io/v1beta1 LeaseCandidate': 'deprecated in v1.36+, unavailable in v1.39+',
  'networking.k8s.io/v1beta1 IPAddress': 'deprecated in v1.34+, unavailable in v1.37+',
  'networking.k8s.io/v1beta1 ServiceCIDR': 'deprecated in v1.34+, unavailable in v1.37+',
  'resource.k8s.io/v1alpha3 DeviceTaintRule': 'deprecated in v1.36+, unavailable in v1.39+',
  'resource.k8s.io/v1beta1 DeviceClass': 'deprecated in v1.35+, unavailable in v1.38+',
  'resource.k8s.io/v1beta1 ResourceClaim': 'deprecated in v1.35+, unavailable in v1.38+',
  'resource.k8s.io/v1beta1 ResourceClaimTemplate': 'deprecated in v1.35+, unavailable in v1.38+',
  'resource.k8s.io/v1beta1 ResourceSlice': 'deprecated in v1.35+, unavailable in v1.38+',
  'resource.k8s.io/v1beta2 DeviceClass': 'deprecated in v1.36+, unavailable in v1.39+',
  'resource.k8s.io/v1beta2 ResourceClaim': 'deprecated in v1.36+, unavailable in v1.39+',
  'resource.k8s.io/v1beta2 ResourceClaimTemplate': 'deprecated in v1.36+, unavailable in v1.39+',
  'resource.k8s.io/v1beta2 ResourceSlice': 'deprecated in v1.36+, unavailable in v1.39+',
  'storage.k8s.io/v1beta1 VolumeAttributesClass': 'deprecated in v1.34+, unavailable in v1.37+; use storage.k8s.io/v1 VolumeAttributesClass',
  'v1 ComponentStatus': 'deprecated in v1.19+',
  'v1 Endpoints': 'deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
}

/** The warning that goes with every answer of a deprecated version of a kind. */
export function deprecationOf(info: ResourceInfo): string | undefined {
  const name = `${info.group === '' ? info.version : `${info.group}/${info.version}`} ${info.kind}`
  return Object.hasOwn(gone, name) ? `${name} is ${gone[name]}` : undefined
}
