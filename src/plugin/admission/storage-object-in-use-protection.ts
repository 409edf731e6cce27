import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts'

const finalizers: Readonly<Record<string, string>> = {
  '/persistentvolumeclaims': 'kubernetes.io/pvc-protection',
  '/persistentvolumes': 'kubernetes.io/pv-protection',
  'storage.k8s.io/volumeattributesclasses': 'kubernetes.io/vac-protection',
}

/** Volumes, claims and classes are not gone before nobody uses them: a finalizer from their first moment. */
export function storageObjectInUseProtection(): AdmissionPlugin {
  return {
    name: 'StorageObjectInUseProtection',
    looksAt: ({ group, resource }) => Object.hasOwn(finalizers, `${group}/${resource}`),
    handles: (operation) => operation === 'CREATE',
    admit({ resource, subresource, object }) {
      const finalizer = finalizers[`${resource.group}/${resource.resource}`]
      if (!finalizer || subresource !== '' || !object || object.metadata.finalizers?.includes(finalizer)) return
      object.metadata.finalizers = [...(object.metadata.finalizers ?? []), finalizer]
    },
  }
}
