import type { corev1 } from '../../api/index.ts'
import { NodeInfo } from '../framework/node-info.ts'
import type { Snapshot } from '../framework/plugin.ts'
import { type PodInfo, podInfo } from '../framework/pod-info.ts'

const NONE: readonly string[] = Object.freeze([])

/**
 * Nodes with the Pods on them, bound or assumed. A scheduling decision runs in one turn of the loop on this very state,
 * so the cache is its own snapshot; lists that depend on nodes are remade only when nodes changed.
 *
 * An assumed Pod (placed, binding under way) counts like a bound one until the watch shows it bound, or it is forgotten.
 */
export class ClusterCache implements Snapshot {
  private readonly infos = new Map<string, NodeInfo>()
  /** Pod uid to the node it counts on. */
  private readonly placed = new Map<string, string>()
  private readonly assumed = new Set<string>()
  private readonly images = new Map<string, number>()
  /** Claim to the Pods that use it. */
  private readonly claimUsers = new Map<string, Set<string>>()
  private list: NodeInfo[] | undefined

  get nodes(): readonly NodeInfo[] {
    this.list ??= this.interleaved()
    return this.list
  }

  get(name: string): NodeInfo | undefined {
    const info = this.infos.get(name)
    return info?.node ? info : undefined
  }

  nodesWithAffinity(): readonly NodeInfo[] {
    return this.nodes.filter((n) => n.podsWithAffinity.size > 0)
  }

  nodesWithRequiredAntiAffinity(): readonly NodeInfo[] {
    return this.nodes.filter((n) => n.podsWithRequiredAntiAffinity.size > 0)
  }

  imageNodes(name: string): number {
    return this.images.get(name) ?? 0
  }

  claimInUse(key: string): boolean {
    for (const uid of this.claimUsers.get(key) ?? NONE) if (this.infos.get(this.placed.get(uid) ?? '')?.node) return true
    return false
  }

  get podCount(): number {
    return this.placed.size
  }

  get assumedCount(): number {
    return this.assumed.size
  }

  setNode(node: corev1.Node): void {
    const name = node.metadata.name ?? ''
    let info = this.infos.get(name)
    if (!info) this.infos.set(name, (info = new NodeInfo(name)))
    const before = info.node
    this.countImages(info, -1)
    info.setNode(node)
    this.countImages(info, 1)
    if (!before || zoneOf(before) !== zoneOf(node)) this.list = undefined
  }

  removeNode(name: string): void {
    const info = this.infos.get(name)
    if (!info) return
    this.countImages(info, -1)
    info.node = undefined
    info.images = new Map()
    this.list = undefined
    if (info.pods.size === 0) this.infos.delete(name)
  }

  /** A Pod seen bound; takes the place of its assumed form. */
  addPod(pod: corev1.Pod): void {
    this.place(podInfo(pod), pod.spec.nodeName as string)
    this.assumed.delete(pod.metadata.uid ?? '')
  }

  removePod(uid: string): void {
    const name = this.placed.get(uid)
    this.assumed.delete(uid)
    if (name === undefined) return
    this.placed.delete(uid)
    const info = this.infos.get(name)
    for (const key of info?.removePod(uid)?.claims ?? NONE) {
      const users = this.claimUsers.get(key)
      users?.delete(uid)
      if (users?.size === 0) this.claimUsers.delete(key)
    }
    if (info && !info.node && info.pods.size === 0) this.infos.delete(name)
  }

  assume(info: PodInfo, nodeName: string): void {
    this.place(info, nodeName)
    this.assumed.add(info.uid)
  }

  /** Takes an assumed Pod back; a Pod that was meanwhile seen bound stays. */
  forget(uid: string): void {
    if (this.assumed.has(uid)) this.removePod(uid)
  }

  isAssumed(uid: string): boolean {
    return this.assumed.has(uid)
  }

  private place(info: PodInfo, nodeName: string): void {
    const before = this.placed.get(info.uid)
    if (before !== undefined && before !== nodeName) this.infos.get(before)?.removePod(info.uid)
    let node = this.infos.get(nodeName)
    if (!node) this.infos.set(nodeName, (node = new NodeInfo(nodeName)))
    node.addPod(info)
    this.placed.set(info.uid, nodeName)
    for (const key of info.claims) {
      const users = this.claimUsers.get(key)
      if (users) users.add(info.uid)
      else this.claimUsers.set(key, new Set([info.uid]))
    }
  }

  private countImages(info: NodeInfo, by: number): void {
    for (const name of info.images.keys()) {
      const n = (this.images.get(name) ?? 0) + by
      if (n <= 0) this.images.delete(name)
      else this.images.set(name, n)
    }
  }

  /** One node of each zone in turn, so that the search spreads even when it stops early. */
  private interleaved(): NodeInfo[] {
    const zones = new Map<string, NodeInfo[]>()
    for (const info of this.infos.values()) {
      if (!info.node) continue
      const zone = zoneOf(info.node)
      const list = zones.get(zone)
      if (list) list.push(info)
      else zones.set(zone, [info])
    }
    const lists = [...zones.values()]
    if (lists.length === 1) return lists[0] as NodeInfo[]
    const out: NodeInfo[] = []
    for (let i = 0; lists.some((l) => i < l.length); i++) for (const l of lists) if (i < l.length) out.push(l[i] as NodeInfo)
    return out
  }
}

function zoneOf(node: corev1.Node): string {
  const labels = node.metadata.labels ?? {}
  return `${labels['topology.kubernetes.io/region'] ?? ''}:${labels['topology.kubernetes.io/zone'] ?? ''}`
}
