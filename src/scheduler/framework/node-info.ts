import type { corev1 } from '../../api/index.ts'
import type { HostPort, PodInfo } from './pod-info.ts'
import { Resources } from './resources.ts'

const NO_LABELS: Record<string, string> = Object.freeze({})
const NO_TAINTS: readonly corev1.Taint[] = Object.freeze([])

/** A node and what runs on it, kept up to date as Pods come and go. */
export class NodeInfo {
  readonly name: string
  node: corev1.Node | undefined
  readonly pods = new Map<string, PodInfo>()
  readonly podsWithAffinity = new Map<string, PodInfo>()
  readonly podsWithRequiredAntiAffinity = new Map<string, PodInfo>()
  readonly requested = new Resources()
  readonly nonZeroRequested = new Resources()
  allocatable = new Resources()
  /** Image name to size in bytes. */
  images: ReadonlyMap<string, number> = new Map()
  private readonly ports = new Map<string, Set<string>>()

  constructor(name: string) {
    this.name = name
  }

  get labels(): Record<string, string> {
    return this.node?.metadata.labels ?? NO_LABELS
  }

  get taints(): readonly corev1.Taint[] {
    return this.node?.spec.taints ?? NO_TAINTS
  }

  setNode(node: corev1.Node): void {
    this.node = node
    this.allocatable = Resources.of(node.status.allocatable)
    const images = new Map<string, number>()
    for (const image of node.status.images ?? []) for (const name of image.names ?? []) images.set(name, image.sizeBytes ?? 0)
    this.images = images
  }

  addPod(info: PodInfo): void {
    if (this.pods.has(info.uid)) this.removePod(info.uid)
    this.pods.set(info.uid, info)
    if (info.requiredAffinity.length || info.requiredAntiAffinity.length || info.preferredAffinity.length || info.preferredAntiAffinity.length) {
      this.podsWithAffinity.set(info.uid, info)
    }
    if (info.requiredAntiAffinity.length) this.podsWithRequiredAntiAffinity.set(info.uid, info)
    this.requested.add(info.requests)
    this.nonZeroRequested.add(info.nonZero)
    this.addPorts(info)
  }

  removePod(uid: string): PodInfo | undefined {
    const info = this.pods.get(uid)
    if (!info) return undefined
    this.pods.delete(uid)
    this.podsWithAffinity.delete(uid)
    this.podsWithRequiredAntiAffinity.delete(uid)
    this.requested.add(info.requests, -1)
    this.nonZeroRequested.add(info.nonZero, -1)
    if (info.hostPorts.length) {
      this.ports.clear()
      for (const other of this.pods.values()) this.addPorts(other)
    }
    return info
  }

  private addPorts(info: PodInfo): void {
    for (const p of info.hostPorts) {
      const key = `${p.protocol}/${p.port}`
      const ips = this.ports.get(key)
      if (ips) ips.add(p.ip)
      else this.ports.set(key, new Set([p.ip]))
    }
  }

  /** True when a port is taken: same protocol and number, and the same address or one of both for all addresses. */
  portTaken(p: HostPort): boolean {
    const ips = this.ports.get(`${p.protocol}/${p.port}`)
    if (!ips) return false
    return p.ip === '0.0.0.0' || ips.has('0.0.0.0') || ips.has(p.ip)
  }

  /** A copy to try things on (preemption). */
  clone(): NodeInfo {
    const copy = new NodeInfo(this.name)
    copy.node = this.node
    copy.allocatable = this.allocatable
    copy.images = this.images
    for (const info of this.pods.values()) copy.addPod(info)
    return copy
  }
}
