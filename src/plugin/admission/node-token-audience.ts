import { type corev1, resources } from '../../api/index.ts'
import type { AdmissionAttributes } from '../../apiserver/admission/admission.ts'
import type { AdmissionDependencies } from './dependencies.ts'

/** Whether a node may ask for a token of this audience: a volume of the Pod wants it, or the node was given the right (KEP-4193). */
export function nodeTokenAudience({ informers, authorize }: AdmissionDependencies) {
  const drivers = informers.informer(resources.storagev1.csidrivers).lister
  const claims = informers.informer(resources.corev1.persistentvolumeclaims).lister
  const volumes = informers.informer(resources.corev1.persistentvolumes).lister

  const driverOf = (pod: corev1.Pod, volume: corev1.Volume): string | undefined => {
    if (volume.csi) return volume.csi.driver
    const claim = volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral ? `${pod.metadata.name}-${volume.name}` : undefined)
    const volumeName = claim ? claims.get(`${pod.metadata.namespace}/${claim}`)?.spec.volumeName : undefined
    return volumeName ? volumes.get(volumeName)?.spec.csi?.driver : undefined
  }
  return async (a: AdmissionAttributes, pod: corev1.Pod, audience: string): Promise<boolean> => {
    for (const volume of pod.spec.volumes ?? []) {
      if (volume.projected?.sources?.some((s) => s.serviceAccountToken?.audience === audience)) return true
      const driver = driverOf(pod, volume)
      if (driver && drivers.get(driver)?.spec.tokenRequests?.some((t) => t.audience === audience)) return true
    }
    const { decision } = await authorize({
      user: a.user,
      verb: 'request-serviceaccounts-token-audience',
      resourceRequest: true,
      namespace: a.namespace,
      apiGroup: '',
      apiVersion: 'v1',
      resource: audience,
      subresource: '',
      name: a.name,
      path: '',
    })
    return decision === 'allow'
  }
}
