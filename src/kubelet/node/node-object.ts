import type { ContainerImage, Node, NodeAddress, NodeCondition, NodeStatus, NodeSystemInfo, ResourceList, Taint } from '../../api/core/v1/types.generated.ts'
import type { Image, RuntimeStatus, RuntimeVersion } from '../runtime/runtime.ts'
import type { Machine } from './machine.ts'

export interface NodeShape {
  name: string
  hostname: string
  addresses: readonly string[]
  machine: Machine
  labels: Readonly<Record<string, string>>
  annotations: Readonly<Record<string, string>>
  taints: readonly Taint[]
  providerID: string | undefined
  maxPods: number
  /** More capacity, such as that of simulated devices, or other figures than the machine's. */
  capacity: Readonly<ResourceList>
  reserved: { cpuMillis: number; memoryBytes: number }
  kubeletVersion: string
  kubeletPort: number
  unschedulable: boolean
}

const Ki = 1024
const EVICTION_MEMORY = 100 * Ki * Ki
const EVICTION_STORAGE = 0.1
const DECLARED = [
  'ExtendWebSocketsToKubelet',
  'InPlacePodLevelResourcesVerticalScaling',
  'InPlacePodVerticalScalingInitContainers',
  'RestartAllContainersOnContainerExits',
]

/** Bytes the way quantities of binary form print them. */
export function bytesText(n: number): string {
  return n !== 0 && n % Ki === 0 ? `${n / Ki}Ki` : String(n)
}

export function capacityOf(shape: NodeShape): { capacity: ResourceList; allocatable: ResourceList } {
  const { machine: m, reserved } = shape
  const memory = Math.floor(m.memoryBytes / Ki) * Ki
  const storage = Math.floor(m.storageBytes / Ki) * Ki
  let huge = 0
  const hugePages: ResourceList = {}
  for (const [name, bytes] of Object.entries(m.hugePages)) {
    hugePages[name] = bytes === 0 ? '0' : bytesText(bytes)
    huge += bytes
  }
  const capacity: ResourceList = {
    cpu: String(m.cpus),
    'ephemeral-storage': bytesText(storage),
    ...hugePages,
    memory: bytesText(memory),
    pods: String(shape.maxPods),
    ...shape.capacity,
  }
  const milli = m.cpus * 1000 - reserved.cpuMillis
  const allocatable: ResourceList = {
    ...capacity,
    cpu: shape.capacity['cpu'] ?? (milli % 1000 === 0 ? String(milli / 1000) : `${milli}m`),
    'ephemeral-storage': shape.capacity['ephemeral-storage'] ?? String(Math.floor(storage - storage * EVICTION_STORAGE)),
    memory: shape.capacity['memory'] ?? bytesText(Math.max(0, memory - EVICTION_MEMORY - reserved.memoryBytes - huge)),
  }
  return { capacity, allocatable }
}

/** The Node as it is first registered, without status conditions. */
export function newNode(shape: NodeShape): Node {
  const { machine: m } = shape
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: shape.name,
      labels: defaultLabels(shape),
      annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true', ...shape.annotations },
    },
    spec: {
      ...(shape.providerID ? { providerID: shape.providerID } : {}),
      ...(shape.unschedulable ? { unschedulable: true } : {}),
      ...(shape.taints.length ? { taints: [...shape.taints] } : {}),
    },
    status: { daemonEndpoints: { kubeletEndpoint: { Port: shape.kubeletPort } }, nodeInfo: nodeInfo(m, shape, undefined) },
  } as Node
}

export function defaultLabels(shape: NodeShape): Record<string, string> {
  const { machine: m } = shape
  return {
    'beta.kubernetes.io/arch': m.arch,
    'beta.kubernetes.io/os': m.os,
    'kubernetes.io/arch': m.arch,
    'kubernetes.io/hostname': shape.hostname,
    'kubernetes.io/os': m.os,
    ...shape.labels,
  }
}

export function nodeInfo(m: Machine, shape: NodeShape, version: RuntimeVersion | undefined): NodeSystemInfo {
  return {
    machineID: m.machineID,
    systemUUID: m.systemUUID,
    bootID: m.bootID,
    kernelVersion: m.kernelVersion,
    osImage: m.osImage,
    containerRuntimeVersion: version ? `${version.runtimeName}://${version.runtimeVersion}` : '',
    kubeletVersion: shape.kubeletVersion,
    kubeProxyVersion: '',
    operatingSystem: m.os,
    architecture: m.arch,
    ...(m.swapBytes > 0 ? { swap: { capacity: m.swapBytes } } : {}),
  }
}

export interface StatusInputs {
  version: RuntimeVersion | undefined
  runtime: RuntimeStatus | undefined
  images: readonly Image[]
  /** Why the node is not ready; empty is ready. */
  problems: readonly string[]
  pressure: { memory: boolean; disk: boolean; pid: boolean }
  /** RFC 3339. */
  now: string
}

/** The whole status the kubelet reports; conditions keep the time of their last change. */
export function nodeStatus(node: Node, shape: NodeShape, inputs: StatusInputs): NodeStatus {
  const { capacity, allocatable } = capacityOf(shape)
  const addresses: NodeAddress[] = [...shape.addresses.map((address) => ({ type: 'InternalIP', address })), { type: 'Hostname', address: shape.hostname }]
  const handlers = [...(inputs.runtime?.runtimeHandlers ?? [])].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  const status: NodeStatus = {
    ...node.status,
    capacity,
    allocatable,
    addresses,
    conditions: conditions(node, inputs),
    daemonEndpoints: { kubeletEndpoint: { Port: shape.kubeletPort } },
    nodeInfo: nodeInfo(shape.machine, shape, inputs.version),
    images: nodeImages(inputs.images),
    declaredFeatures: DECLARED,
  }
  if (handlers.length > 0) {
    status.runtimeHandlers = handlers.map((h) => ({
      name: h.name,
      features: { recursiveReadOnlyMounts: h.features?.recursiveReadOnlyMounts ?? false, userNamespaces: h.features?.userNamespaces ?? false },
    }))
  }
  if (inputs.runtime?.features?.supplementalGroupsPolicy !== undefined)
    status.features = { supplementalGroupsPolicy: inputs.runtime.features.supplementalGroupsPolicy }
  return status
}

function nodeImages(images: readonly Image[]): ContainerImage[] {
  return images
    .map((i) => ({ names: [...i.repoDigests, ...i.repoTags].slice(0, 5), sizeBytes: i.size }))
    .filter((i) => i.names.length > 0)
    .sort((a, b) => b.sizeBytes - a.sizeBytes)
    .slice(0, 50)
}

function conditions(node: Node, inputs: StatusInputs): NodeCondition[] {
  const { now, pressure, problems } = inputs
  const old = node.status?.conditions ?? []
  const make = (type: string, on: boolean, reason: string, message: string): NodeCondition => {
    const before = old.find((c) => c.type === type)
    const status = on ? 'True' : 'False'
    return {
      type,
      status,
      lastHeartbeatTime: now,
      lastTransitionTime: before?.status === status && before.lastTransitionTime ? before.lastTransitionTime : now,
      reason,
      message,
    }
  }
  const ready = problems.length === 0
  const text = problems.length === 1 ? (problems[0] as string) : `[${problems.join(', ')}]`
  const own = [
    make(
      'MemoryPressure',
      pressure.memory,
      pressure.memory ? 'KubeletHasInsufficientMemory' : 'KubeletHasSufficientMemory',
      pressure.memory ? 'kubelet has insufficient memory available' : 'kubelet has sufficient memory available',
    ),
    make(
      'DiskPressure',
      pressure.disk,
      pressure.disk ? 'KubeletHasDiskPressure' : 'KubeletHasNoDiskPressure',
      pressure.disk ? 'kubelet has disk pressure' : 'kubelet has no disk pressure',
    ),
    make(
      'PIDPressure',
      pressure.pid,
      pressure.pid ? 'KubeletHasInsufficientPID' : 'KubeletHasSufficientPID',
      pressure.pid ? 'kubelet has insufficient PID available' : 'kubelet has sufficient PID available',
    ),
    make('Ready', ready, ready ? 'KubeletReady' : 'KubeletNotReady', ready ? 'kubelet is posting ready status' : text),
  ]
  return [...old.filter((c) => !own.some((o) => o.type === c.type)), ...own]
}
