import type { Client } from '../client/client.ts'
import type { ComponentContext } from '../component-base/component.ts'
import type { FeatureGates } from '../component-base/featuregate/feature-gates.ts'

/** Settings of the controller manager; the names are those of its flags. */
export interface ControllerManagerOptions {
  /** `*` all that are on by default, `name` on, `-name` off. @default ['*'] */
  controllers?: readonly string[]
  /** Part of the lease holder's identity. @default localhost */
  hostname?: string
  /** @default true */
  leaderElect?: boolean
  leaderElectLeaseDurationMs?: number
  leaderElectRenewDeadlineMs?: number
  leaderElectRetryPeriodMs?: number
  /** PEM bundle for kube-root-ca.crt; without it the publisher does not run. */
  rootCA?: string
  /** PEM private key that signs legacy service account tokens. */
  serviceAccountPrivateKey?: string
  /** PEM certificate and key of the CA that signs requests; without them the signer does not run. */
  clusterSigningCertificate?: string
  clusterSigningKey?: string
  /** @default 8760 h */
  clusterSigningDurationMs?: number
  /** @default false */
  allocateNodeCidrs?: boolean
  /** @default 10.244.0.0/16 */
  clusterCidr?: string
  /** @default 24 */
  nodeCidrMaskSizeIPv4?: number
  serviceClusterIPRange?: string
  /** @default 5 s */
  nodeMonitorPeriodMs?: number
  /** @default 50 s */
  nodeMonitorGracePeriodMs?: number
  /** @default 60 s */
  nodeStartupGracePeriodMs?: number
  /** @default 12500 */
  terminatedPodGCThreshold?: number
  /** A client with the identity of a service account in kube-system; without it all controllers share the manager's own. */
  clientFor?: (account: string) => Client
}

export interface ControllerManagerContext extends ComponentContext {
  client: Client
  gates?: FeatureGates
  options?: ControllerManagerOptions
}
