export { type KubeconfigOptions, kubeconfigFor } from './kubeconfig.ts'
export { createPki, type Pki, type PkiOptions, type ServiceAccountKeys } from './pki.ts'
export { directoryPkiStore, memoryPkiStore, type PkiStore } from './store.ts'
