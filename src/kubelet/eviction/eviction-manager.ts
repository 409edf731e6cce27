import { promises as fs } from 'node:fs'
import os from 'node:os'
import type { ObjectReference, Pod, PodStatus } from '../../api/core/v1/types.generated.ts'
import type { Clock } from '../../base/index.ts'
import type { EventRecorder } from '../../client/record/event-recorder.ts'
import { wholeValue } from '../../component-helpers/amounts.ts'
import { amountValue, podRequests } from '../../component-helpers/pod-requests.ts'
import { diskOf } from '../gc/image-gc.ts'
import { bytesText } from '../node/node-object.ts'
import { allContainers, isCritical, podReference, uidOf } from '../pods/pod.ts'
import { type ContainerRuntime, runtimeLabels } from '../runtime/runtime.ts'

export interface EvictionOptions {
  runtime: ContainerRuntime
  clock: Clock
  recorder: EventRecorder
  node: ObjectReference
  rootDir: string
  pods(): Pod[]
  evict(uid: string, graceSeconds: number, change: (status: PodStatus) => void): void
  /** Frees disk before Pods have to go. */
  reclaimDisk(): Promise<void>
  onPressure(): void
}

export interface Signals {
  memoryAvailable: number
  memoryCapacity: number
  disk: { size: number; available: number; inodes: number; inodesFree: number } | undefined
}

type Resource = 'memory' | 'ephemeral-storage' | 'inodes'

const MEMORY_BYTES = 100 * 1024 * 1024
const DISK_SHARE = 0.1
const INODES_SHARE = 0.05
const TRANSITION_MS = 300_000
const HARD_GRACE_SECONDS = 1

/** Watches memory and disk of the node; below the hard thresholds it ends one Pod a round, those over their requests first. */
export class EvictionManager {
  private readonly options: EvictionOptions
  private readonly last = { memory: Number.NEGATIVE_INFINITY, disk: Number.NEGATIVE_INFINITY }

  constructor(options: EvictionOptions) {
    this.options = options
  }

  /** Pressure shows for some minutes after it was last met. */
  pressure(): { memory: boolean; disk: boolean; pid: boolean } {
    const now = this.options.clock.monotonic()
    return { memory: now - this.last.memory < TRANSITION_MS, disk: now - this.last.disk < TRANSITION_MS, pid: false }
  }

  async round(signals?: Signals): Promise<void> {
    const s = signals ?? (await readSignals(this.options.rootDir))
    const met = thresholds(s)
    if (met.length === 0) return
    const { clock, recorder, node } = this.options
    const before = this.pressure()
    for (const m of met) this.last[m.resource === 'memory' ? 'memory' : 'disk'] = clock.monotonic()
    const after = this.pressure()
    if (before.memory !== after.memory || before.disk !== after.disk) this.options.onPressure()
    const first = met[0] as (typeof met)[number]
    recorder.event(node, 'Warning', 'EvictionThresholdMet', `Attempting to reclaim ${first.resource}`)
    if (first.resource !== 'memory') {
      await this.options.reclaimDisk()
      if (!thresholds(signals ?? (await readSignals(this.options.rootDir))).some((m) => m.resource === first.resource)) return
    }
    await this.evictOne(first)
  }

  private async evictOne(m: { resource: Resource; threshold: string; available: string }): Promise<void> {
    const usage = await this.usage(m.resource)
    const candidates = this.options
      .pods()
      .filter((p) => !isCritical(p) && p.status.phase !== 'Failed' && p.status.phase !== 'Succeeded' && !p.metadata.deletionTimestamp)
    const victim = rank(candidates, m.resource, (p) => sum(usage.get(uidOf(p))))[0]
    if (!victim) return
    const containers = usage.get(uidOf(victim))
    let message = `The node was low on resource: ${m.resource}. Threshold quantity: ${m.threshold}, available: ${m.available}. `
    for (const c of allContainers(victim)) {
      const used = containers?.get(c.name) ?? 0
      const request = wholeValue(c.resources?.requests?.[m.resource])
      if (used > request)
        message += `Container ${c.name} was using ${bytesText(used)}, request is ${bytesText(request)}, has larger consumption of ${m.resource}. `
    }
    this.options.recorder.event(podReference(victim), 'Warning', 'Evicted', message, { starved_resource: m.resource })
    this.options.evict(uidOf(victim), HARD_GRACE_SECONDS, (status) => {
      status.phase = 'Failed'
      status.reason = 'Evicted'
      status.message = message
      status.conditions = [
        { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message },
        ...(status.conditions ?? []).filter((c) => c.type !== 'DisruptionTarget'),
      ]
    })
  }

  private async usage(resource: Resource): Promise<Map<string, Map<string, number>>> {
    const out = new Map<string, Map<string, number>>()
    for (const s of await this.options.runtime.listContainerStats()) {
      const uid = s.labels[runtimeLabels.podUid] ?? ''
      const value = resource === 'memory' ? s.memory?.workingSetBytes : resource === 'inodes' ? s.writableLayer?.inodesUsed : s.writableLayer?.usedBytes
      let pod = out.get(uid)
      if (!pod) {
        pod = new Map()
        out.set(uid, pod)
      }
      pod.set(s.metadata.name, value ?? 0)
    }
    return out
  }
}

const sum = (containers: Map<string, number> | undefined): number => [...(containers?.values() ?? [])].reduce((a, b) => a + b, 0)

/** The order in which Pods go: over their request, lower priority, more above the request. */
export function rank(pods: readonly Pod[], resource: string, usageOf: (pod: Pod) => number): Pod[] {
  const info = new Map(
    pods.map((p) => {
      const used = usageOf(p)
      const request = amountValue(podRequests(p), resource)
      return [p, { over: used > request, priority: p.spec.priority ?? 0, excess: used - request }] as const
    }),
  )
  return [...pods].sort((a, b) => {
    const x = info.get(a) as { over: boolean; priority: number; excess: number }
    const y = info.get(b) as { over: boolean; priority: number; excess: number }
    return Number(y.over) - Number(x.over) || x.priority - y.priority || y.excess - x.excess
  })
}

/** The hard thresholds that are met, memory first. */
export function thresholds(s: Signals): { resource: Resource; threshold: string; available: string }[] {
  const out: { resource: Resource; threshold: string; available: string }[] = []
  if (s.memoryAvailable < MEMORY_BYTES) out.push({ resource: 'memory', threshold: '100Mi', available: bytesText(s.memoryAvailable) })
  if (s.disk) {
    const least = Math.floor(s.disk.size * DISK_SHARE)
    if (s.disk.available < least) out.push({ resource: 'ephemeral-storage', threshold: String(least), available: bytesText(s.disk.available) })
    const inodes = Math.floor(s.disk.inodes * INODES_SHARE)
    if (s.disk.inodes > 0 && s.disk.inodesFree < inodes) out.push({ resource: 'inodes', threshold: String(inodes), available: String(s.disk.inodesFree) })
  }
  return out
}

async function readSignals(rootDir: string): Promise<Signals> {
  const text = await fs.readFile('/proc/meminfo', 'utf8').catch(() => '')
  const kb = /^MemAvailable:\s+(\d+) kB/m.exec(text)
  return { memoryAvailable: kb ? Number(kb[1]) * 1024 : os.freemem(), memoryCapacity: os.totalmem(), disk: await diskOf(rootDir) }
}
