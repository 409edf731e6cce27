import type { Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import type { Client } from '../../client/client.ts'
import type { EventRecorder } from '../../client/record/event-recorder.ts'
import { podReference, uidOf } from '../pods/pod.ts'
import type { ContainerRuntime } from './runtime.ts'

export interface RuntimeHandlersOptions {
  client: Client
  recorder: EventRecorder
  runtime: ContainerRuntime
  /** Asked before a RuntimeClass is; '' is the default handler. */
  handlerOf: ((pod: Pod) => string | undefined) | undefined
}

/** Which handler of the runtime each Pod runs under: the node's own choice, else its RuntimeClass. Decided once for each Pod. */
export class RuntimeHandlers {
  private readonly options: RuntimeHandlersOptions
  private readonly handlers = new Map<string, string>()

  constructor(options: RuntimeHandlersOptions) {
    this.options = options
  }

  /** Decides for the Pod. Rejects, with an event, when its RuntimeClass cannot be read. */
  async resolve(pod: Pod): Promise<void> {
    const uid = uidOf(pod)
    if (!this.handlers.has(uid)) this.handlers.set(uid, this.options.handlerOf?.(pod) ?? (await this.ofClass(pod)))
  }

  /** The handler decided for the Pod; '' before that. */
  of(pod: Pod): string {
    return this.handlers.get(uidOf(pod)) ?? ''
  }

  runtimeOf(pod: Pod): ContainerRuntime {
    return this.runtimeFor(this.handlers.get(uidOf(pod)) ?? this.options.handlerOf?.(pod) ?? '')
  }

  /** The runtime of Pods that ask for none. */
  get main(): ContainerRuntime {
    return this.runtimeFor('')
  }

  forget(uid: string): void {
    this.handlers.delete(uid)
  }

  private runtimeFor(handler: string): ContainerRuntime {
    const { runtime } = this.options
    return runtime.forHandler?.(handler) ?? runtime
  }

  private async ofClass(pod: Pod): Promise<string> {
    const { client, recorder } = this.options
    const name = pod.spec.runtimeClassName
    if (!name) return ''
    try {
      const { handler } = await client.resource(resources.nodev1.runtimeclasses).get(name)
      if (/^k8ts-/.test(handler)) throw new Error(`handler ${JSON.stringify(handler)} is not for runtime classes`)
      return handler
    } catch (error) {
      recorder.event(
        podReference(pod),
        'Warning',
        'FailedCreatePodSandBox',
        `Failed to create pod sandbox: failed to get sandbox runtime: ${(error as Error).message}`,
      )
      throw error
    }
  }
}
