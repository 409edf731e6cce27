import type { ObjectReference, Pod, Secret } from '../../api/core/v1/types.generated.ts'
import type { Clock } from '../../base/index.ts'
import type { EventRecorder } from '../../client/record/event-recorder.ts'
import { withDefaultTag } from '../../component-helpers/image-reference.ts'
import { type AnyContainer, uidOf } from '../pods/pod.ts'
import { type ContainerRuntime, type ImageSpec, type PodSandboxConfig, RuntimeError } from '../runtime/runtime.ts'
import { CrashBackoff } from '../sync/crash-backoff.ts'
import { StartError } from '../sync/start-error.ts'
import { goDuration } from '../time.ts'
import { credentialsFor } from './credentials.ts'

export interface ImageManagerOptions {
  runtime: ContainerRuntime
  clock: Clock
  recorder: EventRecorder
  /** How many pulls run at once. @default 1 */
  parallel?: number
}

const BACKOFF_MS = 10_000
const BACKOFF_MAX_MS = 300_000

/** Makes sure that a container's image is there: policy, pull, back-off, and the events that tell of it. */
export class ImageManager {
  private readonly backoff: CrashBackoff
  private readonly lastError = new Map<string, string>()
  private readonly waiting: (() => void)[] = []
  private active = 0
  private readonly options: ImageManagerOptions

  constructor(options: ImageManagerOptions) {
    this.options = options
    this.backoff = new CrashBackoff(options.clock, BACKOFF_MS, BACKOFF_MAX_MS)
  }

  /** Resolves with the reference to run. Throws StartError. */
  async ensure(
    pod: Pod,
    container: Pick<AnyContainer, 'name' | 'image' | 'imagePullPolicy'>,
    about: ObjectReference,
    options: { secrets: readonly Secret[]; sandboxConfig: PodSandboxConfig; runtimeHandler: string; signal: AbortSignal },
  ): Promise<string> {
    const { recorder, runtime, clock } = this.options
    const name = container.image ?? ''
    const image = withDefaultTag(name)
    if (image === undefined) {
      const message = `Failed to apply default image tag ${JSON.stringify(name)}: couldn't parse image name ${JSON.stringify(name)}: invalid reference format`
      recorder.event(about, 'Warning', 'InspectFailed', message)
      throw new StartError('InvalidImageName', message)
    }
    const policy = container.imagePullPolicy || (/:latest$/.test(image) ? 'Always' : 'IfNotPresent')
    const spec: ImageSpec = { image, ...(options.runtimeHandler ? { runtimeHandler: options.runtimeHandler } : {}) }
    let present: Awaited<ReturnType<typeof runtime.images.imageStatus>>
    try {
      present = await runtime.images.imageStatus(spec)
    } catch (error) {
      const message = `Failed to inspect image "": ${(error as Error).message}`
      recorder.event(about, 'Warning', 'InspectFailed', message)
      throw new StartError('ImageInspectError', message)
    }
    if (present && policy !== 'Always') {
      recorder.event(about, 'Normal', 'Pulled', `Container image ${JSON.stringify(name)} already present on machine and can be accessed by the pod`)
      return present.id
    }
    if (policy === 'Never') {
      const message = `Container image ${JSON.stringify(name)} is not present with pull policy of Never`
      recorder.event(about, 'Warning', 'ErrImageNeverPull', message)
      throw new StartError('ErrImageNeverPull', message)
    }

    const key = `${uidOf(pod)}_${image}`
    if (this.backoff.waiting(key)) {
      recorder.event(about, 'Normal', 'BackOff', `Back-off pulling image ${JSON.stringify(name)}`)
      const last = this.lastError.get(key)
      throw new StartError('ImagePullBackOff', `Back-off pulling image ${JSON.stringify(name)}${last ? `: ${last}` : ''}`, this.backoff.endsAt(key))
    }
    recorder.event(about, 'Normal', 'Pulling', `Pulling image ${JSON.stringify(name)}`)
    const asked = clock.monotonic()
    await this.enter(options.signal)
    const began = clock.monotonic()
    try {
      const id = await this.pull(spec, options)
      const ended = clock.monotonic()
      const size = (await runtime.images.imageStatus(spec))?.size ?? 0
      recorder.event(
        about,
        'Normal',
        'Pulled',
        `Successfully pulled image ${JSON.stringify(name)} in ${goDuration(ended - began)} (${goDuration(ended - asked)} including waiting). Image size: ${size} bytes.`,
      )
      this.lastError.delete(key)
      return id
    } catch (error) {
      if (options.signal.aborted) throw options.signal.reason
      const text = error instanceof Error ? error.message : String(error)
      recorder.event(about, 'Warning', 'Failed', `Failed to pull image ${JSON.stringify(name)}: ${text}`)
      this.backoff.next(key, clock.now())
      this.lastError.set(key, `ErrImagePull: ${text}`)
      throw new StartError('ErrImagePull', text)
    } finally {
      this.leave()
    }
  }

  /** Forgets a Pod that is gone. */
  forget(podUid: string): void {
    this.backoff.forget(`${podUid}_`)
    for (const key of this.lastError.keys()) if (key.startsWith(`${podUid}_`)) this.lastError.delete(key)
  }

  private async pull(spec: ImageSpec, options: { secrets: readonly Secret[]; sandboxConfig: PodSandboxConfig; signal: AbortSignal }): Promise<string> {
    const { images } = this.options.runtime
    const credentials = credentialsFor(spec.image, options.secrets)
    if (credentials.length === 0) return images.pullImage(spec, undefined, options.sandboxConfig, options.signal)
    let failure: unknown
    for (const auth of credentials) {
      try {
        return await images.pullImage(spec, auth, options.sandboxConfig, options.signal)
      } catch (error) {
        failure ??= error
      }
    }
    throw failure ?? new RuntimeError('Unknown', 'no credentials')
  }

  private async enter(signal: AbortSignal): Promise<void> {
    if (this.active < (this.options.parallel ?? 1)) {
      this.active++
      return
    }
    await new Promise<void>((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      const onAbort = () => {
        const i = this.waiting.indexOf(go)
        if (i >= 0) this.waiting.splice(i, 1)
        reject(signal.reason)
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.waiting.push(go)
    })
  }

  private leave(): void {
    const next = this.waiting.shift()
    if (next) next()
    else this.active--
  }
}
