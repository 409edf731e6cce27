import type { Clock } from '../../base/clock.ts'
import { relist } from './relist.ts'
import type { ContainerRuntime } from './runtime.ts'

const RELIST_MS = 1000
const RELIABLE_RELIST_MS = 300_000

export interface RuntimeChangesOptions {
  runtime: ContainerRuntime
  clock: Clock
  /** An event of a Pod, or of a container or sandbox whose Pod the runtime does not name. */
  onEvent(event: { podUid: string } | { id: string }): void
  /** A relist saw a Pod other than before. */
  onRelist(podUid: string): void
}

/** Tells of what changes in the runtime: by its events, and by relisting what events may miss. */
export async function watchRuntime({ runtime, clock, onEvent, onRelist }: RuntimeChangesOptions, signal: AbortSignal): Promise<void> {
  const listen = async () => {
    while (!signal.aborted) {
      try {
        await runtime.events((event) => onEvent(event.podUid !== undefined ? { podUid: event.podUid } : { id: event.containerId }), signal)
      } catch {
        // Relisting sees what is missed.
      }
      if (!signal.aborted) await clock.sleep(RELIST_MS, signal).catch(() => {})
    }
  }
  const everyMs = runtime.eventsReliable ? RELIABLE_RELIST_MS : RELIST_MS
  await Promise.all([listen(), relist({ runtime, clock, everyMs, onChange: onRelist }, signal)])
}
