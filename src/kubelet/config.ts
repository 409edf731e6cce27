import type { Node, Pod, ResourceList, Service, Taint } from '../api/core/v1/types.generated.ts'
import type { Clock, Random } from '../base/index.ts'
import type { Client } from '../client/client.ts'
import type { Logger } from '../component-base/component.ts'
import type { Machine } from './node/machine.ts'
import type { PodSource } from './pods/pod-source.ts'
import type { ContainerRuntime } from './runtime/runtime.ts'
import type { Mounter } from './volumes/mounter.ts'

export interface KubeletOptions {
  nodeName: string
  client: Client
  /** What events go by. @default client */
  eventClient?: Client
  runtime: ContainerRuntime
  clock: Clock
  random: Random
  log: Logger

  /** @default /var/lib/kubelet */
  rootDir?: string
  /** @default /var/log/pods */
  logDir?: string
  /** Links to logs by container; undefined makes none. */
  containerLogDir?: string
  /** Folder of static Pod manifests; undefined: no static Pods. */
  staticPodPath?: string
  /** How often manifests are read again whatever the file system tells. @default 20 s */
  fileCheckMs?: number

  /** The node's addresses, the first is its InternalIP. @default the machine's first */
  nodeIPs?: readonly string[]
  /** @default nodeName */
  hostname?: string
  /** @default this machine */
  machine?: Machine
  /** Figures in place of the machine's, and further resources. */
  capacity?: ResourceList
  reserved?: { cpuMillis: number; memoryBytes: number }
  nodeLabels?: Record<string, string>
  nodeAnnotations?: Record<string, string>
  registerWithTaints?: readonly Taint[]
  /** @default true */
  registerNode?: boolean
  unschedulable?: boolean
  providerID?: string
  /** @default v1.36.3+k8ts */
  version?: string
  /** @default 10250 */
  port?: number
  /** @default 110 */
  maxPods?: number

  clusterDNS?: readonly string[]
  /** @default cluster.local */
  clusterDomain?: string
  /** @default /etc/resolv.conf */
  resolvConf?: string
  /** The longest wait between restarts. @default 300 s */
  maxContainerRestartPeriodMs?: number
  /** @default 10 s */
  nodeStatusUpdateMs?: number
  /** @default 5 min */
  nodeStatusReportMs?: number
  /** @default 40 */
  leaseSeconds?: number
  /** How many images are pulled at once. @default 1 */
  parallelPulls?: number
  /** Mounts for volumes; undefined: plain folders. */
  mounter?: Mounter
  /**
   * Ends Pods and removes unused images when memory or disk of the machine run short, at the kubelet's default thresholds. Off, since
   * a machine that is not the cluster's alone is often over 85 % full for reasons of its own. @default false
   */
  evictionHard?: boolean
  /** Root of the Pods' cgroups; undefined leaves them to the runtime. */
  cgroupRoot?: string

  /** The runtime handler of a Pod; '' is the default one. Asked before a RuntimeClass is. */
  handlerOf?(pod: Pod): string | undefined
  /** Pods of the API; by default a watch of this node's own. */
  podSource?: PodSource
  /** The Node object as it changes; by default a watch of its own. Resolves after the abort. */
  nodeSource?(onNode: (node: Node) => void, signal: AbortSignal): Promise<void>
  /** All Services, undefined until they were read once; by default a watch of its own. */
  services?(): readonly Service[] | undefined
  /** The API's defaults and validation for static Pods. */
  applyPodDefaults?(pod: Pod): void
  validatePod?(pod: Pod): string[]
}

export const KUBELET_VERSION = 'v1.36.3+k8ts'
