import { resources } from '../../api/index.ts'
import type { InformerFactory } from '../../client/cache/informer-factory.ts'
import { classOfVolume } from '../../component-helpers/volume-matching.ts'
import type { VolumeView } from '../framework/plugin.ts'
import { AssumeCache } from './assume-cache.ts'

const BY_CLASS = 'storageClass'
const BY_NODE = 'spec.nodeName'

/** The storage objects that plugins look at, over shared informers. */
export function volumeView(informers: InformerFactory): VolumeView {
  const volumeInformer = informers.informer(resources.corev1.persistentvolumes)
  volumeInformer.addIndex(BY_CLASS, (v) => [classOfVolume(v)])
  const capacityInformer = informers.informer(resources.storagev1.csistoragecapacities)
  capacityInformer.addIndex(BY_CLASS, (c) => [c.storageClassName])
  const attachmentInformer = informers.informer(resources.storagev1.volumeattachments)
  attachmentInformer.addIndex(BY_NODE, (a) => [a.spec.nodeName])
  const classes = informers.informer(resources.storagev1.storageclasses).lister
  const csiNodes = informers.informer(resources.storagev1.csinodes).lister
  const csiDrivers = informers.informer(resources.storagev1.csidrivers).lister
  const volumes = new AssumeCache(volumeInformer.lister)
  return {
    claims: new AssumeCache(informers.informer(resources.corev1.persistentvolumeclaims).lister),
    volumes,
    volumesOfClass: (name) => volumeInformer.lister.byIndex(BY_CLASS, name).map((v) => volumes.get(v.metadata.name ?? '') ?? v),
    storageClass: (name) => classes.get(name),
    csiNode: (name) => csiNodes.get(name),
    csiDriver: (name) => csiDrivers.get(name),
    capacities: (name) => capacityInformer.lister.byIndex(BY_CLASS, name),
    attachments: (node) => attachmentInformer.lister.byIndex(BY_NODE, node),
  }
}
