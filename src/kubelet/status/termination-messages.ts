import { BoundedMap } from '../../base/bounded-map.ts'
import type { PodState } from '../runtime/pod-state.ts'
import { type ContainerRuntime, type ContainerStatus, runtimeAnnotations } from '../runtime/runtime.ts'
import { terminationMessage } from './termination-message.ts'

const MAX_MESSAGES = 2000

/** Termination messages of ended containers, by id: their files may go before the status does. */
export class TerminationMessages {
  private readonly runtime: ContainerRuntime
  private readonly messages = new BoundedMap<string, string>(MAX_MESSAGES)

  constructor(runtime: ContainerRuntime) {
    this.runtime = runtime
  }

  /** Reads those of the containers that have ended. */
  collect(state: PodState): void {
    for (const s of state.containers) {
      if (s.state === 'EXITED' && !this.messages.has(s.id)) this.messages.set(s.id, this.read(s))
    }
  }

  of(id: string): string {
    return this.messages.get(id) ?? ''
  }

  private read(s: ContainerStatus): string {
    const path = s.annotations[runtimeAnnotations.terminationMessagePath]
    const mount = s.mounts.find((m) => m.containerPath === path)
    const hasFile = (this.runtime.route?.(s.id) ?? this.runtime).logs === undefined
    return terminationMessage({
      file: mount?.hostPath,
      log: hasFile ? s.logPath : undefined,
      useLog: s.annotations[runtimeAnnotations.terminationMessagePolicy] === 'FallbackToLogsOnError' && s.exitCode !== 0,
    })
  }
}
