import type { PodInfo } from './framework/pod-info.ts'

/** Which Pods were promised which node (status.nominatedNodeName). */
export class Nominations {
  private readonly byPod = new Map<string, { info: PodInfo; node: string }>()
  private readonly byNode = new Map<string, Map<string, PodInfo>>()

  on(node: string): readonly PodInfo[] {
    const pods = this.byNode.get(node)
    return pods ? [...pods.values()] : NONE
  }

  set(info: PodInfo, node: string): void {
    this.remove(info.uid)
    this.byPod.set(info.uid, { info, node })
    let pods = this.byNode.get(node)
    if (!pods) this.byNode.set(node, (pods = new Map()))
    pods.set(info.uid, info)
  }

  remove(uid: string): boolean {
    const entry = this.byPod.get(uid)
    if (!entry) return false
    this.byPod.delete(uid)
    const pods = this.byNode.get(entry.node)
    pods?.delete(uid)
    if (pods?.size === 0) this.byNode.delete(entry.node)
    return true
  }
}

const NONE: readonly PodInfo[] = Object.freeze([])
