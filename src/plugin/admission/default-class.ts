import { type corev1, type networkingv1, resources } from '../../api/index.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import type { AdmissionDependencies } from './dependencies.ts'
import { concerns } from './refusal.ts'

/** The class marked as default; of several the newest, then the first by name. */
function defaultOf<T extends KubeObject>(classes: readonly T[], ...annotations: readonly string[]): T | undefined {
  const marked = classes.filter((c) => annotations.some((a) => c.metadata.annotations?.[a] === 'true'))
  const time = (c: T) => Date.parse(c.metadata.creationTimestamp ?? '') || 0
  return marked.sort((a, b) => time(b) - time(a) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))[0]
}

/** Claims that name no class get the default one. */
export function defaultStorageClass({ informers }: AdmissionDependencies): AdmissionPlugin {
  const { lister } = informers.informer(resources.storagev1.storageclasses)
  return {
    name: 'DefaultStorageClass',
    looksAt: ({ group, resource }) => group === '' && resource === 'persistentvolumeclaims',
    handles: (operation) => operation === 'CREATE',
    admit(attributes) {
      if (!concerns(attributes, '', 'persistentvolumeclaims')) return
      const claim = attributes.object as corev1.PersistentVolumeClaim
      if (claim.spec.storageClassName !== undefined || claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] !== undefined) return
      const found = defaultOf(lister.list(), 'storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class')
      if (found) claim.spec.storageClassName = found.metadata.name as string
    },
  }
}

/** Ingresses that name no class get the default one. */
export function defaultIngressClass({ informers }: AdmissionDependencies): AdmissionPlugin {
  const { lister } = informers.informer(resources.networkingv1.ingressclasses)
  return {
    name: 'DefaultIngressClass',
    looksAt: ({ group, resource }) => group === 'networking.k8s.io' && resource === 'ingresses',
    handles: (operation) => operation === 'CREATE',
    admit(attributes) {
      if (!concerns(attributes, 'networking.k8s.io', 'ingresses')) return
      const ingress = attributes.object as networkingv1.Ingress
      if (ingress.spec.ingressClassName !== undefined || ingress.metadata.annotations?.['kubernetes.io/ingress.class'] !== undefined) return
      const found = defaultOf(lister.list(), 'ingressclass.kubernetes.io/is-default-class')
      if (found) ingress.spec.ingressClassName = found.metadata.name as string
    },
  }
}
