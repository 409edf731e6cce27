import type { Clock } from '../../base/clock.ts'
import type { Client } from '../../client/client.ts'
import type { Logger } from '../../component-base/component.ts'

/** Something the API server does once it serves; it is not ready before `run` has resolved. */
export interface PostStartHook {
  /** As health checks show it behind `poststarthook/`. */
  readonly name: string
  /** May leave loops behind that end with the signal. @throws Error when the server cannot go on */
  run(signal: AbortSignal): Promise<void>
}

export interface HookContext {
  /** The API server's client of itself, which may do everything. */
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
}

/** Runs `work` now, and again every `ms` until the signal aborts; a failure is logged and tried again next time. */
export async function keepDoing(name: string, work: () => Promise<void>, ms: number, { clock, log }: HookContext, signal: AbortSignal): Promise<void> {
  const once = async () => {
    try {
      await work()
    } catch (error) {
      if (!signal.aborted) log.error('bootstrap controller failed', { name, err: String(error) })
    }
  }
  await once()
  const loop = async () => {
    for (;;) {
      await clock.sleep(ms, signal)
      await once()
    }
  }
  // A sleep rejects when the signal aborts: the loop's regular end.
  loop().catch(() => {})
}
