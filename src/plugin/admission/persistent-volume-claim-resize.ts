import { type corev1, resources } from '../../api/index.ts'
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import { compareQuantities } from '../../component-helpers/amounts.ts'
import type { AdmissionDependencies } from './dependencies.ts'
import { concerns, refused } from './refusal.ts'

/** A claim may grow when it is bound and its class says so. */
export function persistentVolumeClaimResize({ informers }: AdmissionDependencies): AdmissionPlugin {
  const { lister } = informers.informer(resources.storagev1.storageclasses)
  return {
    name: 'PersistentVolumeClaimResize',
    looksAt: ({ group, resource }) => group === '' && resource === 'persistentvolumeclaims',
    handles: (operation) => operation === 'UPDATE',
    validate(attributes) {
      if (!concerns(attributes, '', 'persistentvolumeclaims')) return
      const claim = attributes.object as corev1.PersistentVolumeClaim
      const old = attributes.oldObject as corev1.PersistentVolumeClaim
      const size = (c: corev1.PersistentVolumeClaim) => c.spec.resources?.requests?.['storage']
      if (compareQuantities(size(claim), size(old)) <= 0) return
      if (old.status?.phase !== 'Bound') throw refused(attributes, 'Only bound persistent volume claims can be expanded')
      const className = claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? claim.spec.storageClassName ?? ''
      if (!lister.get(className)?.allowVolumeExpansion) {
        throw refused(attributes, 'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize')
      }
    },
  }
}
