import type { corev1, policyv1, storagev1 } from '../../api/index.ts'
import type { Clock, Random } from '../../base/index.ts'
import type { Client } from '../../client/client.ts'
import type { Logger } from '../../component-base/component.ts'
import type { NodeInfo } from './node-info.ts'
import type { PodInfo } from './pod-info.ts'
import type { Status } from './status.ts'

/** What plugins keep between the points of one Pod's cycle. Keys are plugin names. */
export type CycleState = Map<string, unknown>

/** The cluster as one scheduling cycle sees it. */
export interface Snapshot {
  /** All nodes, zones taken in turn. */
  readonly nodes: readonly NodeInfo[]
  get(name: string): NodeInfo | undefined
  /** Nodes with Pods that have any Pod affinity terms; and with required anti-affinity. */
  nodesWithAffinity(): readonly NodeInfo[]
  nodesWithRequiredAntiAffinity(): readonly NodeInfo[]
  /** The number of nodes that hold a container image. */
  imageNodes(name: string): number
  /** Some Pod on a node uses this claim (`namespace/name`). */
  claimInUse(key: string): boolean
}

/** What the cluster's other objects look like to plugins, from informers. */
export interface ClusterView {
  namespaceLabels(name: string): Record<string, string> | undefined
  /** A Pod that is not over, by `namespace/name`. */
  pod(key: string): corev1.Pod | undefined
  readonly volumes: VolumeView
  podDisruptionBudgets(namespace: string): readonly policyv1.PodDisruptionBudget[]
  /** Selectors of the Services, ReplicationControllers, ReplicaSets and StatefulSets that match a Pod, merged; undefined: none does. */
  defaultSpreadSelector(pod: corev1.Pod): ((labels: Record<string, string>) => boolean) | undefined
}

/** The storage objects of the cluster, as the API shows them. */
export interface VolumeView {
  readonly claims: ObjectCache<corev1.PersistentVolumeClaim>
  readonly volumes: ObjectCache<corev1.PersistentVolume>
  volumesOfClass(storageClass: string): readonly corev1.PersistentVolume[]
  storageClass(name: string): storagev1.StorageClass | undefined
  csiNode(name: string): storagev1.CSINode | undefined
  csiDriver(name: string): storagev1.CSIDriver | undefined
  capacities(storageClass: string): readonly storagev1.CSIStorageCapacity[]
  attachments(node: string): readonly storagev1.VolumeAttachment[]
}

/** Objects by key. What a scheduling decision will write counts from then on, until the watch shows something newer, or it is taken back. */
export interface ObjectCache<T> {
  /** As the API shows it. */
  shown(key: string): T | undefined
  /** With what was decided. */
  get(key: string): T | undefined
  /** `object` has the version of the one it will replace. False when that one has changed meanwhile. */
  assume(object: T): boolean
  /** Back to what the API shows. */
  restore(key: string): void
}

export interface PluginHandle {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly view: ClusterView
  readonly schedulerName: string
  snapshot(): Snapshot
  /** Runs the Filter plugins as they would run for `pod` on `node`, nominated Pods counted. */
  filterOne(state: CycleState, pod: PodInfo, node: NodeInfo): Status | undefined
  /** Tells stateful PreFilter plugins that a Pod was put on (1) or taken off (-1) a copy of a node. */
  adjust(state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, sign: 1 | -1): void
  nominatedOn(node: string): readonly PodInfo[]
  event(regarding: corev1.Pod, related: corev1.Pod | undefined, type: 'Normal' | 'Warning', reason: string, action: string, note: string): void
  /** Puts a Pod back into the active queue at once (after background preemption). */
  activate(pod: PodInfo): void
}

export type Action =
  | 'Add'
  | 'Delete'
  | 'Update'
  | 'UpdateNodeAllocatable'
  | 'UpdateNodeLabel'
  | 'UpdateNodeTaint'
  | 'UpdateNodeCondition'
  | 'UpdateNodeAnnotation'
  | 'UpdatePodLabel'
  | 'UpdatePodScaleDown'
  | 'UpdatePodToleration'
  | 'UpdatePodSchedulingGatesEliminated'

export type EventResource =
  | 'Node'
  | 'AssignedPod'
  | 'UnschedulablePod'
  | 'PersistentVolume'
  | 'PersistentVolumeClaim'
  | 'StorageClass'
  | 'CSINode'
  | 'CSIDriver'
  | 'CSIStorageCapacity'
  | 'VolumeAttachment'

/** Something that happened in the cluster and may make a waiting Pod schedulable. `*` wakes everybody. */
export interface ClusterEvent {
  readonly resource: EventResource | '*'
  readonly action: Action
  readonly old?: unknown
  readonly new?: unknown
}

export interface EventRegistration {
  readonly resource: EventResource
  readonly actions: readonly Action[]
  /** Whether this event is worth another try for `pod`; absent: always. */
  hint?(pod: PodInfo, event: ClusterEvent): boolean
}

/** A scheduler plugin: any subset of the extension points. */
export interface Plugin {
  readonly name: string
  /** Events that may let a Pod pass which this plugin rejected. */
  events?(): readonly EventRegistration[]
  preEnqueue?(pod: PodInfo): Status | undefined
  /** A status rejects; a set of names narrows the nodes. */
  preFilter?(state: CycleState, pod: PodInfo, snapshot: Snapshot): Status | ReadonlySet<string> | undefined
  /** Keeps preFilter state true when Pods are put on or taken off copies of nodes. */
  adjust?(state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, sign: 1 | -1): void
  /** Copies this plugin's state before somebody tries things on it. */
  cloneState?(state: unknown): unknown
  filter?(state: CycleState, pod: PodInfo, node: NodeInfo): Status | undefined
  postFilter?(state: CycleState, pod: PodInfo, diagnosis: Diagnosis): Promise<PostFilterResult>
  preScore?(state: CycleState, pod: PodInfo, nodes: readonly NodeInfo[], snapshot: Snapshot): Status | undefined
  score?(state: CycleState, pod: PodInfo, node: NodeInfo): number
  /** Brings raw scores to 0..100 in place; `nodes[i]` has `scores[i]`. */
  normalize?(state: CycleState, pod: PodInfo, scores: number[], nodes: readonly NodeInfo[]): void
  reserve?(state: CycleState, pod: PodInfo, nodeName: string): Status | undefined
  unreserve?(state: CycleState, pod: PodInfo, nodeName: string): void
  /** Whether preBind has anything to do: if so the Pod is told its node beforehand, and binding may take long. */
  preBindNeeded?(state: CycleState, pod: PodInfo, nodeName: string): boolean
  preBind?(state: CycleState, pod: PodInfo, nodeName: string, signal: AbortSignal): Promise<Status | undefined>
  bind?(state: CycleState, pod: PodInfo, nodeName: string): Promise<Status | undefined>
}

/** Why no node was found. */
export interface Diagnosis {
  /** Rejections by node name. */
  readonly nodeStatuses: Map<string, Status>
  /** For nodes without a status of their own: those outside the set that PreFilter left. */
  absentStatus?: Status
  /** A PreFilter rejection, which stands for all nodes. */
  preFilterStatus?: Status
  readonly plugins: Set<string>
  readonly pendingPlugins: Set<string>
}

export interface PostFilterResult {
  /** undefined: it made the Pod schedulable. */
  status?: Status
  /** undefined: leave status.nominatedNodeName alone; '' clears it. */
  nominatedNode?: string
}
