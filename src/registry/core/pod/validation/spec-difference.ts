import type { PodSpec } from '../../../../api/core/v1/types.generated.ts'
import { builtinTypes } from '../../../../api/types.ts'
import type { FieldSchema, Schema } from '../../../../apimachinery/schema/schema.ts'
import { unifiedDiff } from '../../../../base/unified-diff.ts'

/** Fields whose Go name is no more than their JSON name with a capital. */
const GO_NAMES: Readonly<Record<string, string>> = {
  tty: 'TTY',
  ip: 'IP',
  uid: 'UID',
  nfs: 'NFS',
  iscsi: 'ISCSI',
  rbd: 'RBD',
  csi: 'CSI',
  fc: 'FC',
  httpGet: 'HTTPGet',
  tcpSocket: 'TCPSocket',
  grpc: 'GRPC',
  dnsPolicy: 'DNSPolicy',
  dnsConfig: 'DNSConfig',
  awsElasticBlockStore: 'AWSElasticBlockStore',
  gcePersistentDisk: 'GCEPersistentDisk',
  os: 'OS',
  httpHeaders: 'HTTPHeaders',
  cephfs: 'CephFS',
  storageos: 'StorageOS',
}

const VOLUMES = [
  ...['HostPath', 'EmptyDir', 'GCEPersistentDisk', 'AWSElasticBlockStore', 'GitRepo', 'Secret', 'NFS', 'ISCSI', 'Glusterfs', 'PersistentVolumeClaim', 'RBD'],
  ...['Quobyte', 'FlexVolume', 'Cinder', 'CephFS', 'Flocker', 'DownwardAPI', 'FC', 'AzureFile', 'ConfigMap', 'VsphereVolume', 'AzureDisk'],
  ...['PhotonPersistentDisk', 'Projected', 'PortworxVolume', 'ScaleIO', 'StorageOS', 'CSI', 'Ephemeral', 'Image'],
]

/** Fields of internal types in their order there, where that is another one; what is not named comes last. */
const ORDER: Readonly<Record<string, readonly string[]>> = {
  Volume: ['Name', ...VOLUMES],
  PersistentVolumeSource: [
    ...['GCEPersistentDisk', 'AWSElasticBlockStore', 'HostPath', 'Glusterfs', 'NFS', 'RBD', 'Quobyte', 'ISCSI', 'FlexVolume', 'Cinder', 'CephFS', 'FC'],
    ...['Flocker', 'AzureFile', 'VsphereVolume', 'AzureDisk', 'PhotonPersistentDisk', 'PortworxVolume', 'ScaleIO', 'Local', 'StorageOS', 'CSI'],
  ],
  PodSpec: [
    ...['Volumes', 'InitContainers', 'Containers', 'EphemeralContainers', 'RestartPolicy', 'TerminationGracePeriodSeconds', 'ActiveDeadlineSeconds'],
    ...['DNSPolicy', 'NodeSelector', 'ServiceAccountName', 'AutomountServiceAccountToken', 'NodeName', 'SecurityContext', 'ImagePullSecrets', 'Hostname'],
    ...['Subdomain', 'SetHostnameAsFQDN', 'Affinity', 'SchedulerName', 'Tolerations', 'HostAliases', 'PriorityClassName', 'Priority', 'PreemptionPolicy'],
    ...['DNSConfig', 'ReadinessGates', 'RuntimeClassName', 'Overhead', 'EnableServiceLinks', 'TopologySpreadConstraints', 'OS', 'SchedulingGates'],
  ],
}

/** What the internal PodSpec keeps in its security context; the old name of the account is gone there. */
const HOST_FIELDS = ['HostNetwork', 'HostPID', 'HostIPC', 'ShareProcessNamespace', 'HostUsers']

function internalForm(type: string, printed: Record<string, unknown>): Record<string, unknown> {
  const order = Object.hasOwn(ORDER, type) ? ORDER[type] : undefined
  if (!order) return printed
  if (type === 'PodSpec') {
    const context = Object.fromEntries(HOST_FIELDS.map((name) => [name, printed[name]]))
    for (const name of [...HOST_FIELDS, 'ServiceAccount']) delete printed[name]
    if (printed['SecurityContext']) printed['SecurityContext'] = { ...context, ...(printed['SecurityContext'] as object) }
  }
  return Object.fromEntries([...order.filter((n) => n in printed), ...Object.keys(printed).filter((n) => !order.includes(n))].map((n) => [n, printed[n]]))
}

/** Types of the API machinery have no internal form: they print as in JSON. */
const PLAIN = 'k8s.io/apimachinery/'

const goName = (name: string): string => GO_NAMES[name] ?? `${name[0]?.toUpperCase()}${name.slice(1)}`

/** The value with every field of its type, absent ones as Go prints their zero. */
function full(value: unknown, schema: Schema): unknown {
  if (value === undefined || value === null) return null
  switch (schema.kind) {
    case 'struct': {
      if (schema.name.startsWith(PLAIN)) return value
      const source = value as Record<string, unknown>
      const printed = Object.fromEntries(schema.fields.map((f) => [goName(f.name), fullField(source[f.name], f)]))
      return internalForm(schema.name.slice(schema.name.lastIndexOf('.') + 1), printed)
    }
    case 'list':
      return (value as unknown[]).map((v) => full(v, schema.elem))
    case 'map': {
      const source = value as Record<string, unknown>
      return Object.fromEntries(
        Object.keys(source)
          .sort()
          .map((k) => [k, full(source[k], schema.elem)]),
      )
    }
    default:
      return value
  }
}

function fullField(value: unknown, field: FieldSchema): unknown {
  if (value !== undefined && value !== null) return full(value, field.schema)
  if (field.pointer) return null
  switch (field.schema.kind) {
    case 'struct':
      return full({}, field.schema)
    case 'scalar':
      return field.schema.scalar === 'bool'
        ? false
        : field.schema.scalar === 'int32' || field.schema.scalar === 'int64'
          ? 0
          : field.schema.scalar === 'quantity'
            ? '0'
            : ''
    default:
      return null
  }
}

const lines = (value: object, type: string): string[] => JSON.stringify(full(value, builtinTypes.structType(`k8s.io/api/core/v1.${type}`)), null, 1).split('\n')

export const podSpecDifference = (before: PodSpec, after: PodSpec): string => specDifference('PodSpec', before, after)

/** What differs between two values of a core type, as a unified diff of their printed internal form. */
export const specDifference = (type: string, before: object, after: object): string => unifiedDiff(lines(before, type), lines(after, type))
