import type { Pod } from '../../api/core/v1/types.generated.ts'
import type { Clock } from '../../base/clock.ts'
import { nameOf, namespaceOf, uidOf } from '../pods/pod.ts'
import { emptyPodState, type PodState, readPodState } from './pod-state.ts'
import type { ContainerRuntime } from './runtime.ts'

/** What the runtime last said of each Pod. */
export class PodStates {
  private readonly runtime: ContainerRuntime
  private readonly clock: Clock
  private readonly states = new Map<string, PodState>()

  constructor(runtime: ContainerRuntime, clock: Clock) {
    this.runtime = runtime
    this.clock = clock
  }

  /** Asks the runtime. */
  async read(pod: Pod): Promise<PodState> {
    const state = await readPodState(this.runtime, this.clock, { uid: uidOf(pod), name: nameOf(pod), namespace: namespaceOf(pod) })
    this.states.set(uidOf(pod), state)
    return state
  }

  get(uid: string): PodState | undefined {
    return this.states.get(uid)
  }

  /** Forgets the Pod. @returns what was known */
  take(pod: Pod): PodState {
    const uid = uidOf(pod)
    const state = this.states.get(uid) ?? emptyPodState(uid, nameOf(pod), namespaceOf(pod), 0)
    this.states.delete(uid)
    return state
  }

  /** The Pods a container or sandbox belongs to. */
  ownersOf(id: string): string[] {
    const owners: string[] = []
    for (const [uid, state] of this.states) {
      if (state.containers.some((c) => c.id === id) || state.sandboxes.some((s) => s.id === id)) owners.push(uid)
    }
    return owners
  }
}
