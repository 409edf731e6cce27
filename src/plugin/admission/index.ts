import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import { certificateApproval, certificateSigning, certificateSubjectRestriction } from './certificates.ts'
import { defaultIngressClass, defaultStorageClass } from './default-class.ts'
import { defaultTolerationSeconds } from './default-toleration-seconds.ts'
import type { AdmissionDependencies } from './dependencies.ts'
import { limitRanger } from './limit-ranger.ts'
import { namespaceLifecycle } from './namespace-lifecycle.ts'
import { nodeRestriction } from './node-restriction.ts'
import { persistentVolumeClaimResize } from './persistent-volume-claim-resize.ts'
import { podSecurity } from './pod-security/plugin.ts'
import { podTopologyLabels } from './pod-topology-labels.ts'
import { priority } from './priority.ts'
import { resourceQuota } from './resource-quota.ts'
import { runtimeClass } from './runtime-class.ts'
import { serviceAccount } from './service-account.ts'
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts'
import { taintNodesByCondition } from './taint-nodes-by-condition.ts'

export type { AdmissionDependencies } from './dependencies.ts'

/** Every plugin in the order they run, with whether it runs by default. */
const plugins: readonly { readonly make: (deps: AdmissionDependencies) => AdmissionPlugin; readonly off?: true }[] = [
  { make: namespaceLifecycle },
  { make: limitRanger },
  { make: serviceAccount },
  { make: nodeRestriction },
  { make: taintNodesByCondition },
  { make: podSecurity },
  { make: priority },
  { make: () => defaultTolerationSeconds() },
  { make: defaultStorageClass },
  { make: storageObjectInUseProtection },
  { make: persistentVolumeClaimResize },
  { make: runtimeClass },
  { make: certificateApproval },
  { make: certificateSigning },
  { make: certificateSubjectRestriction },
  { make: defaultIngressClass },
  { make: podTopologyLabels },
  { make: resourceQuota },
]

export interface AdmissionSelection {
  /** Names of plugins to run beside the default ones. */
  readonly enable?: readonly string[]
  /** Names of plugins not to run. */
  readonly disable?: readonly string[]
}

/** The plugins of a server in upstream's order: first all of them mutate, then all of them validate. @throws Error for a name nobody knows */
export function admissionPlugins(deps: AdmissionDependencies, { enable = [], disable = [] }: AdmissionSelection = {}): AdmissionPlugin[] {
  const made = plugins.map(({ make, off }) => ({ plugin: make(deps), on: !off }))
  const known = new Set(made.map(({ plugin }) => plugin.name))
  for (const name of [...enable, ...disable]) if (!known.has(name)) throw new Error(`admission: unknown plugin ${name}`)
  return made.filter(({ plugin, on }) => (on || enable.includes(plugin.name)) && !disable.includes(plugin.name)).map(({ plugin }) => plugin)
}
