import type { NodeSelector, NodeSelectorTerm, PersistentVolume, PersistentVolumeSource, VolumeSource } from '../api/core/v1/types.generated.ts'
import type { CSINode } from '../api/storage/v1/types.generated.ts'
import type { Labels } from '../apimachinery/labels.ts'
import { matchesNodeLabels } from './node-affinity.ts'

/**
 * Volume types of cloud providers that were once built in and are served by CSI drivers today (KEP-625). A node's CSINode lists in an
 * annotation which of them its kubelet hands over.
 */
export const MIGRATED_PLUGINS = 'storage.alpha.kubernetes.io/migrated-plugins'
const ZONE_LABELS = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'] as const

interface MigratedPlugin {
  readonly driver: string
  readonly field: keyof VolumeSource & keyof PersistentVolumeSource
  /** The node label by which the driver knows zones. */
  readonly zoneKey?: string
  handle(source: PersistentVolumeSource): string | undefined
}

const PLUGINS: ReadonlyMap<string, MigratedPlugin> = new Map<string, MigratedPlugin>([
  [
    'kubernetes.io/aws-ebs',
    {
      driver: 'ebs.csi.aws.com',
      field: 'awsElasticBlockStore',
      zoneKey: 'topology.ebs.csi.aws.com/zone',
      // `aws://ZONE/vol-…` and `vol-…` are one volume.
      handle: (s) => s.awsElasticBlockStore?.volumeID.replace(/^aws:\/\/[^/]*\/+/, ''),
    },
  ],
  [
    'kubernetes.io/gce-pd',
    {
      driver: 'pd.csi.storage.gke.io',
      field: 'gcePersistentDisk',
      zoneKey: 'topology.gke.io/zone',
      handle: (s) => s.gcePersistentDisk && `projects/UNSPECIFIED/zones/UNSPECIFIED/disks/${s.gcePersistentDisk.pdName}`,
    },
  ],
  [
    'kubernetes.io/azure-disk',
    { driver: 'disk.csi.azure.com', field: 'azureDisk', zoneKey: 'topology.disk.csi.azure.com/zone', handle: (s) => s.azureDisk?.diskURI },
  ],
  [
    'kubernetes.io/azure-file',
    { driver: 'file.csi.azure.com', field: 'azureFile', handle: (s) => s.azureFile && `#${s.azureFile.secretName}#${s.azureFile.shareName}#` },
  ],
  [
    'kubernetes.io/cinder',
    { driver: 'cinder.csi.openstack.org', field: 'cinder', zoneKey: 'topology.cinder.csi.openstack.org/zone', handle: (s) => s.cinder?.volumeID },
  ],
  [
    'kubernetes.io/vsphere-volume',
    { driver: 'csi.vsphere.vmware.com', field: 'vsphereVolume', zoneKey: 'topology.csi.vmware.com/zone', handle: (s) => s.vsphereVolume?.volumePath },
  ],
  ['kubernetes.io/portworx-volume', { driver: 'pxd.portworx.com', field: 'portworxVolume', handle: (s) => s.portworxVolume?.volumeID }],
])

/** The CSI driver that stands for a provisioner once built in; undefined for all others. */
export const migratedDriver = (provisioner: string): string | undefined => PLUGINS.get(provisioner)?.driver

/** The node's kubelet hands volumes of this plugin to the CSI driver. */
export function isMigratedOn(csiNode: CSINode | undefined, plugin: string): boolean {
  const list = csiNode?.metadata.annotations?.[MIGRATED_PLUGINS]
  return !!list?.split(',').includes(plugin)
}

function pluginOf(source: VolumeSource | PersistentVolumeSource): [string, MigratedPlugin] | undefined {
  for (const entry of PLUGINS) if (source[entry[1].field] !== undefined) return entry
  return undefined
}

/** A volume written into a Pod that some CSI driver may serve. */
export const isMigratable = (source: VolumeSource | PersistentVolumeSource): boolean => pluginOf(source) !== undefined

/** Driver and handle of a volume of a type once built in, where the node has handed that type over. */
export function migratedSource(source: VolumeSource | PersistentVolumeSource, csiNode: CSINode | undefined): { driver: string; handle: string } | undefined {
  const found = pluginOf(source)
  if (!found || !isMigratedOn(csiNode, found[0])) return undefined
  const handle = found[1].handle(source as PersistentVolumeSource)
  return handle ? { driver: found[1].driver, handle } : undefined
}

/**
 * The volume's node affinity holds on the node. For a volume of a type once built in that the node has handed over, zones count by the
 * driver's own label.
 */
export function volumeFitsNode(volume: PersistentVolume, labels: Labels | undefined, csiNode: CSINode | undefined): boolean {
  const required = affinityOn(volume, csiNode)
  // Only labels count: a volume cannot name its nodes.
  return !required || matchesNodeLabels(required, labels)
}

function affinityOn(volume: PersistentVolume, csiNode: CSINode | undefined): NodeSelector | undefined {
  const own = volume.spec.nodeAffinity?.required
  const found = pluginOf(volume.spec)
  const zoneKey = found?.[1].zoneKey
  if (!found || !zoneKey || !isMigratedOn(csiNode, found[0])) return own
  const isZone = (key: string) => (ZONE_LABELS as readonly string[]).includes(key)
  const terms = own?.nodeSelectorTerms ?? []
  if (terms.some((t) => t.matchExpressions?.some((e) => isZone(e.key)))) {
    const renamed = (t: NodeSelectorTerm): NodeSelectorTerm => ({
      ...t,
      ...(t.matchExpressions ? { matchExpressions: t.matchExpressions.map((e) => (isZone(e.key) ? { ...e, key: zoneKey } : e)) } : {}),
    })
    return { nodeSelectorTerms: terms.map(renamed) }
  }
  const zones = zonesOf(volume.metadata.labels)
  if (!zones) return own
  const inZone = { key: zoneKey, operator: 'In', values: [...zones] }
  if (terms.length === 0) return { nodeSelectorTerms: [{ matchExpressions: [inZone] }] }
  return { nodeSelectorTerms: terms.map((t) => ({ ...t, matchExpressions: [...(t.matchExpressions ?? []), inZone] })) }
}

function zonesOf(labels: Labels | undefined): ReadonlySet<string> | undefined {
  for (const key of ZONE_LABELS) if (labels && Object.hasOwn(labels, key)) return labelValues(labels[key] as string)
  return undefined
}

/** A zone or region label of a volume may name several, joined by `__`; undefined when one of them is empty. */
export function labelValues(label: string): ReadonlySet<string> | undefined {
  const values = label.split('__').map((v) => v.trim())
  return values.includes('') ? undefined : new Set(values)
}
