import type { ResourceInfo } from '../../api/scheme.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import { deepEqual } from '../../base/deep-freeze.ts'
import type { NameRule, Strategy, SubresourceStrategy } from './strategy.ts'

/** What differs from kind to kind in generic writing, by `resource.group`. A kind's own strategy overrides it. */
const set = (...names: string[]): ReadonlySet<string> => new Set(names)

const UNCONDITIONAL_UPDATE_REFUSED = set(
  'leases.coordination.k8s.io',
  'leasecandidates.coordination.k8s.io',
  'poddisruptionbudgets.policy',
  'runtimeclasses.node.k8s.io',
  'validatingadmissionpolicies.admissionregistration.k8s.io',
  'validatingadmissionpolicybindings.admissionregistration.k8s.io',
  'mutatingadmissionpolicies.admissionregistration.k8s.io',
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io',
  'validatingwebhookconfigurations.admissionregistration.k8s.io',
  'mutatingwebhookconfigurations.admissionregistration.k8s.io',
  'csidrivers.storage.k8s.io',
  'csinodes.storage.k8s.io',
  'csistoragecapacities.storage.k8s.io',
  'volumeattachments.storage.k8s.io',
  'clustertrustbundles.certificates.k8s.io',
  'podcertificaterequests.certificates.k8s.io',
  'resourcepoolstatusrequests.resource.k8s.io',
  'storageversions.internal.apiserver.k8s.io',
  'storageversionmigrations.storagemigration.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
  'apiservices.apiregistration.k8s.io',
)

const CREATE_ON_UPDATE = set(
  'services',
  'endpoints',
  'events',
  'events.events.k8s.io',
  'limitranges',
  'leases.coordination.k8s.io',
  'leasecandidates.coordination.k8s.io',
  'runtimeclasses.node.k8s.io',
  'roles.rbac.authorization.k8s.io',
  'rolebindings.rbac.authorization.k8s.io',
  'clusterroles.rbac.authorization.k8s.io',
  'clusterrolebindings.rbac.authorization.k8s.io',
)

const RETURNS_DELETED_OBJECT = set(
  'pods',
  'services',
  'serviceaccounts',
  'podtemplates',
  'resourcequotas',
  'persistentvolumes',
  'persistentvolumeclaims',
  'namespaces',
  'csidrivers.storage.k8s.io',
  'csinodes.storage.k8s.io',
  'storageclasses.storage.k8s.io',
  'volumeattachments.storage.k8s.io',
  'volumeattributesclasses.storage.k8s.io',
  'deviceclasses.resource.k8s.io',
  'devicetaintrules.resource.k8s.io',
  'resourceclaims.resource.k8s.io',
  'resourceclaimtemplates.resource.k8s.io',
  'resourcepoolstatusrequests.resource.k8s.io',
  'resourceslices.resource.k8s.io',
)

const ORPHANS_BY_DEFAULT = set('replicationcontrollers', 'jobs.batch')

const GENERATION_OF_SPEC = set(
  'pods',
  'replicationcontrollers',
  'replicasets.apps',
  'deployments.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'jobs.batch',
  'cronjobs.batch',
  'poddisruptionbudgets.policy',
  'ingresses.networking.k8s.io',
  'ingressclasses.networking.k8s.io',
  'networkpolicies.networking.k8s.io',
  'flowschemas.flowcontrol.apiserver.k8s.io',
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io',
  'validatingadmissionpolicies.admissionregistration.k8s.io',
  'validatingadmissionpolicybindings.admissionregistration.k8s.io',
  'mutatingadmissionpolicies.admissionregistration.k8s.io',
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io',
  'deviceclasses.resource.k8s.io',
  'resourceslices.resource.k8s.io',
  'devicetaintrules.resource.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
  'csidrivers.storage.k8s.io',
)

/** Fields other than `spec` whose change counts. */
const GENERATION_OF_FIELD: Readonly<Record<string, string>> = {
  'validatingwebhookconfigurations.admissionregistration.k8s.io': 'webhooks',
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': 'webhooks',
  podtemplates: 'template',
}

const LABEL_NAMES = set('namespaces', 'statefulsets.apps', 'services')
const PATH_SEGMENT_NAMES = set(
  'roles.rbac.authorization.k8s.io',
  'rolebindings.rbac.authorization.k8s.io',
  'clusterroles.rbac.authorization.k8s.io',
  'clusterrolebindings.rbac.authorization.k8s.io',
  'poddisruptionbudgets.policy',
  'certificatesigningrequests.certificates.k8s.io',
  'events',
  'apiservices.apiregistration.k8s.io',
  'clustertrustbundles.certificates.k8s.io',
  'ipaddresses.networking.k8s.io',
)

/** `/status` keeps the whole stored metadata but what is said here for these kinds. */
const STATUS_KEEPS_LABELS_AND_ANNOTATIONS = set(
  'servicecidrs.networking.k8s.io',
  'resourceclaims.resource.k8s.io',
  'devicetaintrules.resource.k8s.io',
  'resourcepoolstatusrequests.resource.k8s.io',
  'podgroups.scheduling.k8s.io',
  'volumeattachments.storage.k8s.io',
  'validatingadmissionpolicies.admissionregistration.k8s.io',
  'podcertificaterequests.certificates.k8s.io',
  'storageversions.internal.apiserver.k8s.io',
  'storageversionmigrations.storagemigration.k8s.io',
  'flowschemas.flowcontrol.apiserver.k8s.io',
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io',
)

type Fields = Record<string, unknown>

/** How often the update of a kind checks the whole metadata as if it were new. */
const METADATA_CHECKS_ON_UPDATE: Readonly<Record<string, number>> = {
  configmaps: 2,
  secrets: 1,
  services: 1,
  pods: 1,
  serviceaccounts: 1,
  endpoints: 1,
  limitranges: 1,
  'roles.rbac.authorization.k8s.io': 1,
  'rolebindings.rbac.authorization.k8s.io': 1,
  'clusterroles.rbac.authorization.k8s.io': 1,
  'clusterrolebindings.rbac.authorization.k8s.io': 1,
}

/** The rules of one resource: its own strategy where it says something, upstream's table where it does not. */
export interface ResolvedStrategy<T extends KubeObject = KubeObject> extends Strategy<T> {
  nameRule: NameRule
  allowCreateOnUpdate: boolean
  allowUnconditionalUpdate: boolean
  generationMode: 'spec' | 'none'
  returnDeletedObject: boolean
  hasStatus: boolean
  metadataChecksOnUpdate: number
  /** Whether `obj` differs from `old` in what metadata.generation counts. */
  /** @param main the object itself is written, not a subresource: only then do a Deployment's annotations count */
  generationChanged(obj: T, old: T, main: boolean): boolean
  orphansByDefault(obj: T): boolean
}

export function resolveStrategy(info: ResourceInfo, own: Strategy): ResolvedStrategy {
  const key = info.group === '' ? info.resource : `${info.resource}.${info.group}`
  const hasStatus = info.subresources.some((s) => s.name === 'status')
  const field = GENERATION_OF_FIELD[key]
  const counted = GENERATION_OF_SPEC.has(key) || field !== undefined || key === 'endpointslices.discovery.k8s.io' || key === 'priorityclasses.scheduling.k8s.io'
  return {
    ...own,
    nameRule: own.nameRule ?? (LABEL_NAMES.has(key) ? 'label' : PATH_SEGMENT_NAMES.has(key) ? 'pathSegment' : 'subdomain'),
    allowCreateOnUpdate: own.allowCreateOnUpdate ?? CREATE_ON_UPDATE.has(key),
    allowUnconditionalUpdate: own.allowUnconditionalUpdate ?? !UNCONDITIONAL_UPDATE_REFUSED.has(key),
    generationMode: own.generation ?? (counted ? 'spec' : 'none'),
    returnDeletedObject: own.returnDeletedObject ?? RETURNS_DELETED_OBJECT.has(key),
    statusOnMain: own.statusOnMain ?? (hasStatus ? 'drop' : 'keep'),
    hasStatus,
    metadataChecksOnUpdate: METADATA_CHECKS_ON_UPDATE[key] ?? 0,
    generationChanged: (obj, old, main) => {
      if (main && key === 'deployments.apps' && !deepEqual(obj.metadata.annotations ?? {}, old.metadata.annotations ?? {})) return true
      if (key === 'endpointslices.discovery.k8s.io' && !deepEqual(obj.metadata.labels ?? {}, old.metadata.labels ?? {})) return true
      if (key === 'priorityclasses.scheduling.k8s.io') return false
      if (field !== undefined) return !deepEqual((obj as unknown as Fields)[field], (old as unknown as Fields)[field])
      return contentDiffers(obj as unknown as Fields, old as unknown as Fields)
    },
    orphansByDefault: (obj) => (own.defaultPropagation ? own.defaultPropagation(obj as never) === 'orphan' : ORPHANS_BY_DEFAULT.has(key)),
  } as ResolvedStrategy
}

/** Anything but metadata and status. */
function contentDiffers(obj: Fields, old: Fields): boolean {
  for (const name of Object.keys(obj)) {
    if (name === 'metadata' || name === 'status' || name === 'kind' || name === 'apiVersion') continue
    if (!deepEqual(obj[name], old[name])) return true
  }
  for (const name of Object.keys(old)) {
    if (name === 'metadata' || name === 'status' || name === 'kind' || name === 'apiVersion') continue
    if (!Object.hasOwn(obj, name)) return true
  }
  return false
}

/** How `/status` writes a kind without a strategy of its own: only status, and metadata where upstream lets it through. */
export function genericStatusStrategy(info: ResourceInfo): SubresourceStrategy {
  const key = info.group === '' ? info.resource : `${info.resource}.${info.group}`
  const keepsMetadata = STATUS_KEEPS_LABELS_AND_ANNOTATIONS.has(key)
  return {
    prepareForUpdate(obj, old) {
      const to = obj as unknown as Fields
      const from = old as unknown as Fields
      for (const name of Object.keys(to)) {
        if (name !== 'metadata' && name !== 'status' && name !== 'kind' && name !== 'apiVersion' && !Object.hasOwn(from, name)) delete to[name]
      }
      for (const name of Object.keys(from)) {
        if (name !== 'metadata' && name !== 'status' && name !== 'kind' && name !== 'apiVersion') to[name] = from[name]
      }
      if (keepsMetadata) {
        for (const name of ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const) {
          if (old.metadata[name] === undefined) delete obj.metadata[name]
          else obj.metadata[name] = old.metadata[name] as never
        }
      } else if (key === 'deployments.apps') {
        if (old.metadata.labels === undefined) delete obj.metadata.labels
        else obj.metadata.labels = old.metadata.labels
      }
    },
  }
}
