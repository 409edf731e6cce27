import type { Clock } from '../../base/clock.ts'
import { readPodState } from '../runtime/pod-state.ts'
import { type ContainerRuntime, runtimeLabels } from '../runtime/runtime.ts'
import type { PodRuntime } from '../sync/pod-runtime.ts'
import type { VolumeManager } from '../volumes/volume-manager.ts'

const ORPHAN_GRACE_SECONDS = 1

export interface OrphansOptions {
  runtime: ContainerRuntime
  clock: Clock
  podRuntime: PodRuntime
  volumes: VolumeManager
  isKnown(podUid: string): boolean
}

/** Ends and removes what the runtime and the disk hold of Pods that no source knows. */
export async function removeOrphans({ runtime, clock, podRuntime, volumes, isKnown }: OrphansOptions): Promise<void> {
  const unknown = new Map<string, { uid: string; name: string; namespace: string }>()
  for (const s of await runtime.listPodSandboxes()) {
    const uid = s.labels[runtimeLabels.podUid]
    if (uid === undefined || isKnown(uid)) continue
    unknown.set(uid, { uid, name: s.metadata.name, namespace: s.metadata.namespace })
  }
  for (const id of unknown.values()) {
    const state = await readPodState(runtime, clock, id)
    for (const c of state.containers) if (c.state === 'RUNNING') await runtime.stopContainer(c.id, ORPHAN_GRACE_SECONDS)
    await podRuntime.removePod(id, state)
  }
  for (const uid of await clock.track(volumes.onDisk())) if (!isKnown(uid)) await volumes.unmount(uid)
}
