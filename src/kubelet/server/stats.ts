import os from 'node:os'
import type { Pod } from '../../api/core/v1/types.generated.ts'
import { formatTime } from '../../apimachinery/time.ts'
import type { Kubelet } from '../kubelet.ts'
import { nameOf, namespaceOf, uidOf } from '../pods/pod.ts'
import { type ContainerStats, runtimeLabels } from '../runtime/runtime.ts'

const cpuOf = (s: ContainerStats) =>
  s.cpu ? { time: formatTime(s.cpu.timestamp), usageNanoCores: s.cpu.usageNanoCores ?? 0, usageCoreNanoSeconds: s.cpu.usageCoreNanoSeconds } : undefined

const memoryOf = (s: ContainerStats) =>
  s.memory
    ? {
        time: formatTime(s.memory.timestamp),
        usageBytes: s.memory.usageBytes ?? s.memory.workingSetBytes,
        workingSetBytes: s.memory.workingSetBytes,
        ...(s.memory.rssBytes === undefined ? {} : { rssBytes: s.memory.rssBytes }),
        ...(s.memory.availableBytes === undefined ? {} : { availableBytes: s.memory.availableBytes }),
        ...(s.memory.pageFaults === undefined ? {} : { pageFaults: s.memory.pageFaults }),
        ...(s.memory.majorPageFaults === undefined ? {} : { majorPageFaults: s.memory.majorPageFaults }),
      }
    : undefined

async function byPod(kubelet: Kubelet): Promise<Map<string, ContainerStats[]>> {
  const out = new Map<string, ContainerStats[]>()
  for (const s of await kubelet.runtime.listContainerStats()) {
    const uid = s.labels[runtimeLabels.podUid] ?? ''
    const list = out.get(uid)
    if (list) list.push(s)
    else out.set(uid, [s])
  }
  return out
}

function sum(list: readonly ContainerStats[], pick: (s: ContainerStats) => number | undefined): number {
  return list.reduce((total, s) => total + (pick(s) ?? 0), 0)
}

/** `/stats/summary`: the node and its Pods. */
export async function statsSummary(kubelet: Kubelet, onlyCpuAndMemory: boolean): Promise<unknown> {
  const now = kubelet.options.clock.now()
  const time = formatTime(now)
  const stats = await byPod(kubelet)
  const all = [...stats.values()].flat()
  const usedMemory = sum(all, (s) => s.memory?.workingSetBytes)
  const real = kubelet.runtime.pretend === undefined && !kubelet.options.capacity
  const pods = kubelet.allPods().map((pod: Pod) => {
    const list = stats.get(uidOf(pod)) ?? []
    return {
      podRef: { name: nameOf(pod), namespace: namespaceOf(pod), uid: uidOf(pod) },
      startTime: pod.status.startTime ?? time,
      containers: list.map((s) => ({
        name: s.metadata.name,
        startTime: pod.status.containerStatuses?.find((c) => c.name === s.metadata.name)?.state.running?.startedAt ?? time,
        ...(cpuOf(s) ? { cpu: cpuOf(s) } : {}),
        ...(memoryOf(s) ? { memory: memoryOf(s) } : {}),
        ...(onlyCpuAndMemory || !s.writableLayer
          ? {}
          : {
              rootfs: { time: formatTime(s.writableLayer.timestamp), usedBytes: s.writableLayer.usedBytes ?? 0, inodesUsed: s.writableLayer.inodesUsed ?? 0 },
            }),
      })),
      cpu: { time, usageNanoCores: sum(list, (s) => s.cpu?.usageNanoCores), usageCoreNanoSeconds: sum(list, (s) => s.cpu?.usageCoreNanoSeconds) },
      memory: { time, usageBytes: sum(list, (s) => s.memory?.usageBytes), workingSetBytes: sum(list, (s) => s.memory?.workingSetBytes) },
    }
  })
  const fs = onlyCpuAndMemory ? undefined : await kubelet.runtime.images.imageFsInfo().catch(() => undefined)
  const image = fs?.imageFilesystems[0]
  return {
    node: {
      nodeName: kubelet.nodeName,
      startTime: formatTime(now - os.uptime() * 1000),
      cpu: { time, usageNanoCores: sum(all, (s) => s.cpu?.usageNanoCores), usageCoreNanoSeconds: sum(all, (s) => s.cpu?.usageCoreNanoSeconds) },
      memory: real
        ? { time, availableBytes: os.freemem(), usageBytes: os.totalmem() - os.freemem(), workingSetBytes: os.totalmem() - os.freemem() }
        : { time, usageBytes: usedMemory, workingSetBytes: usedMemory },
      ...(image ? { runtime: { imageFs: { time: formatTime(image.timestamp), usedBytes: image.usedBytes ?? 0 } } } : {}),
    },
    pods,
  }
}

const label = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

/** `/metrics/resource`: what metrics-server and autoscalers read. */
export async function resourceMetrics(kubelet: Kubelet): Promise<string> {
  const stats = await byPod(kubelet)
  const lines: string[] = []
  const family = (name: string, help: string, type: string, rows: string[]) => lines.push(`# HELP ${name} [STABLE] ${help}`, `# TYPE ${name} ${type}`, ...rows)
  const containers = [...stats.values()].flat()
  const names = (s: ContainerStats) =>
    `container="${label(s.metadata.name)}",namespace="${label(s.labels[runtimeLabels.podNamespace] ?? '')}",pod="${label(s.labels[runtimeLabels.podName] ?? '')}"`
  const seconds = (ns: number) => String(ns / 1e9)
  family(
    'container_cpu_usage_seconds_total',
    'Cumulative cpu time consumed by the container in core-seconds',
    'counter',
    containers
      .filter((s) => s.cpu)
      .map((s) => `container_cpu_usage_seconds_total{${names(s)}} ${seconds(s.cpu?.usageCoreNanoSeconds ?? 0)} ${Math.floor(s.cpu?.timestamp ?? 0)}`),
  )
  family(
    'container_memory_working_set_bytes',
    'Current working set of the container in bytes',
    'gauge',
    containers
      .filter((s) => s.memory)
      .map((s) => `container_memory_working_set_bytes{${names(s)}} ${s.memory?.workingSetBytes ?? 0} ${Math.floor(s.memory?.timestamp ?? 0)}`),
  )
  family('node_cpu_usage_seconds_total', 'Cumulative cpu time consumed by the node in core-seconds', 'counter', [
    `node_cpu_usage_seconds_total ${seconds(sum(containers, (s) => s.cpu?.usageCoreNanoSeconds))}`,
  ])
  family('node_memory_working_set_bytes', 'Current working set of the node in bytes', 'gauge', [
    `node_memory_working_set_bytes ${sum(containers, (s) => s.memory?.workingSetBytes)}`,
  ])
  const podRows = (value: (list: ContainerStats[]) => string, name: string) =>
    [...stats.values()].map((list) => {
      const first = list[0] as ContainerStats
      return `${name}{namespace="${label(first.labels[runtimeLabels.podNamespace] ?? '')}",pod="${label(first.labels[runtimeLabels.podName] ?? '')}"} ${value(list)}`
    })
  family(
    'pod_cpu_usage_seconds_total',
    'Cumulative cpu time consumed by the pod in core-seconds',
    'counter',
    podRows((l) => seconds(sum(l, (s) => s.cpu?.usageCoreNanoSeconds)), 'pod_cpu_usage_seconds_total'),
  )
  family(
    'pod_memory_working_set_bytes',
    'Current working set of the pod in bytes',
    'gauge',
    podRows((l) => String(sum(l, (s) => s.memory?.workingSetBytes)), 'pod_memory_working_set_bytes'),
  )
  family('resource_scrape_error', '1 if there was an error while getting container metrics, 0 otherwise', 'gauge', ['resource_scrape_error 0'])
  return `${lines.join('\n')}\n`
}

/** `/metrics`: the kubelet's own figures. */
export function kubeletMetrics(kubelet: Kubelet): string {
  const pods = kubelet.allPods()
  const containers = pods.reduce((n, p) => n + (p.status.containerStatuses ?? []).filter((c) => c.state.running).length, 0)
  return [
    "# HELP kubelet_node_name [ALPHA] The node's name. The count is always 1.",
    '# TYPE kubelet_node_name gauge',
    `kubelet_node_name{node="${label(kubelet.nodeName)}"} 1`,
    '# HELP kubelet_running_pods [ALPHA] Number of pods that have a running pod sandbox',
    '# TYPE kubelet_running_pods gauge',
    `kubelet_running_pods ${pods.filter((p) => p.status.phase === 'Running').length}`,
    '# HELP kubelet_running_containers [ALPHA] Number of containers currently running',
    '# TYPE kubelet_running_containers gauge',
    `kubelet_running_containers{container_state="running"} ${containers}`,
    '',
  ].join('\n')
}
