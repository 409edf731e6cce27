import type { Clock, Random } from '../../../base/index.ts'
import type { ComponentContext, Logger } from '../../../component-base/component.ts'
import { parseImageReference } from '../../../component-helpers/image-reference.ts'
import {
  type AuthConfig,
  type ContainerConfig,
  type Image,
  type ImageService,
  type ImageSpec,
  type PodSandboxConfig,
  RuntimeError,
} from '../../runtime/runtime.ts'
import type { LogBuffer } from '../in-process/log-buffer.ts'
import { type ContainerEngine, type ContainerRecord, type Exit, InProcessRuntime, type SandboxRecord } from '../in-process/runtime.ts'

/** What a unit gets: its context ends with its container. */
export interface UnitContext extends ComponentContext {
  /** Command and arguments, expanded. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Where the container sees host folders: container path to host path. */
  readonly mounts: ReadonlyMap<string, string>
  readonly pod: { readonly name: string; readonly namespace: string; readonly uid: string }
  /** The Pod's own addresses; none for one in the host's network. */
  readonly ips: readonly string[]
  /** Writes a line to the container's standard output, as it is. */
  print(line: string): void
  /** Tells that it works: a container of a unit that `tellsStart` counts as started from then on. */
  started(): void
}

/** A component as a container: runs until the signal aborts; returning is exit code 0, throwing is exit code 1 (or the error's `exitCode`). */
export interface Unit {
  (context: UnitContext): Promise<void>
  /** It calls `started`. Code that is loaded at first need would otherwise fail its first probe, and wait for the second one. */
  readonly tellsStart?: boolean
}

export interface BuiltinRuntimeOptions {
  clock: Clock
  random: Random
  /** By image (`registry.k8s.io/kube-scheduler:v1.36.3`), by image path without tag, or by the command's name (`kube-scheduler`). */
  units: ReadonlyMap<string, Unit>
  version: string
  /** klog verbosity from argv `--v=N`; 2 otherwise. @default 2 */
  verbosity?: number
  /** Addresses of Pods that are not in the host's network; without it they have none. */
  addresses?: PodAddresses
  /** Also told of every line, with its source, such as for the terminal of `k8ts up`. */
  onLog?: (pod: string, container: string, line: string) => void
}

/** Addresses of this machine that stand for Pods: what runs in this process listens there. */
export interface PodAddresses {
  /** Resolves when the address can be listened on. */
  take(): Promise<string>
  release(address: string): Promise<void>
}

const DRAIN_SECONDS = 2
/** The longest wait for a unit to tell that it has started. */
const START_MS = 3000

/** Runs k8ts's own components as containers of this process. Who may use it is the caller's to decide. */
export function createBuiltinRuntime(options: BuiltinRuntimeOptions): InProcessRuntime {
  return new InProcessRuntime({ clock: options.clock, random: options.random, engine: new BuiltinEngine(options) })
}

function findUnit(units: ReadonlyMap<string, Unit>, image: string, command: readonly string[]): Unit | undefined {
  const ref = parseImageReference(image)
  const name = command[0] ?? ''
  return (
    units.get(image) ??
    (ref ? (units.get(`${ref.domain}/${ref.path}`) ?? units.get(ref.path) ?? units.get(ref.path.slice(ref.path.lastIndexOf('/') + 1))) : undefined) ??
    units.get(name) ??
    units.get(name.slice(name.lastIndexOf('/') + 1))
  )
}

class BuiltinEngine implements ContainerEngine {
  readonly name = 'builtin'
  readonly version: string
  readonly images: ImageService
  readonly maxStopSeconds = DRAIN_SECONDS
  private readonly options: BuiltinRuntimeOptions

  constructor(options: BuiltinRuntimeOptions) {
    this.options = options
    this.version = options.version
    this.images = new BuiltinImages(options)
  }

  async openSandbox(config: PodSandboxConfig): Promise<string[]> {
    const { addresses } = this.options
    if (!addresses || config.linux.securityContext.namespaceOptions.network !== 'POD') return []
    return [await addresses.take()]
  }

  closeSandbox(sandbox: SandboxRecord): void {
    for (const address of sandbox.ips) void this.options.addresses?.release(address).catch(() => {})
  }

  async create(_sandbox: unknown, config: ContainerConfig): Promise<void> {
    if (!this.unit(config))
      throw new RuntimeError('NotFound', `no component ${JSON.stringify(config.command[0] ?? '')} of image ${JSON.stringify(config.image.image)} in this build`)
  }

  private unit(config: ContainerConfig): Unit | undefined {
    return findUnit(this.options.units, config.image.userSpecifiedImage || config.image.image, config.command)
  }

  async start(c: ContainerRecord, signal: AbortSignal): Promise<{ ended: Promise<Exit> }> {
    const { config, sandbox } = c
    const unit = this.unit(config)
    if (!unit) throw new RuntimeError('NotFound', `no component for container ${JSON.stringify(config.metadata.name)}`)
    const { clock, random } = this.options
    const argv = [...config.command, ...config.args]
    const level = argv.map((a) => /^--?v=(\d{1,2})$/.exec(a)?.[1]).find((v) => v !== undefined)
    const log = new ContainerLogger(c.log, clock, level === undefined ? (this.options.verbosity ?? 2) : Number(level), {}, (line) =>
      this.options.onLog?.(sandbox.config.metadata.name, config.metadata.name, line),
    )
    const mounts = new Map(config.mounts.map((m) => [m.containerPath, m.hostPath]))
    const { name, namespace, uid } = sandbox.config.metadata
    let tellStarted = () => {}
    const started = unit.tellsStart ? new Promise<void>((resolve) => (tellStarted = resolve)) : undefined
    const context: UnitContext = {
      clock: scopedClock(clock, signal),
      random,
      log,
      signal,
      argv,
      env: Object.fromEntries(config.envs.map((e) => [e.key, e.value])),
      mounts,
      pod: { name, namespace, uid },
      ips: [...sandbox.ips],
      print: (line) => log.raw(line),
      started: () => tellStarted(),
    }
    // The unit's first synchronous stretch is its own failure, not the runtime's.
    const ended = Promise.resolve()
      .then(() => unit(context))
      .then(
        (): Exit => ({ code: 0 }),
        (error: unknown): Exit => {
          if (signal.aborted && (error === signal.reason || (error as Error)?.name === 'AbortError')) return { code: 0 }
          const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
          log.error('component failed', { err: text })
          const code = (error as { exitCode?: unknown } | null)?.exitCode
          return { code: typeof code === 'number' ? code & 0xff : 1, message: error instanceof Error ? error.message : String(error) }
        },
      )
    if (started) {
      const late = clock.setTimeout(tellStarted, START_MS)
      await Promise.race([started, ended])
      late.cancel()
    }
    return { ended }
  }

  async exec(): Promise<never> {
    throw new RuntimeError('Unknown', 'the container is a component inside the k8ts process: no command can run in it')
  }
}

/** A clock whose timers end with the unit, so that a stopped one leaves nothing behind. */
function scopedClock(clock: Clock, signal: AbortSignal): Clock {
  const live = new Set<{ cancel(): void }>()
  const graceMs = DRAIN_SECONDS * 1000
  signal.addEventListener(
    'abort',
    () => {
      clock.setTimeout(() => {
        for (const t of live) t.cancel()
        live.clear()
      }, graceMs)
    },
    { once: true },
  )
  const once = (make: (fn: () => void, ms: number) => { cancel(): void }) => (fn: () => void, ms: number) => {
    const timer = make(() => {
      live.delete(entry)
      fn()
    }, ms)
    const entry = {
      cancel: () => {
        live.delete(entry)
        timer.cancel()
      },
    }
    live.add(entry)
    return entry
  }
  const scoped: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    setTimeout: once((fn, ms) => clock.setTimeout(fn, ms)),
    deadline: once((fn, ms) => clock.deadline(fn, ms)),
    setInterval: (fn, ms) => {
      const timer = clock.setInterval(fn, ms)
      const entry = {
        cancel: () => {
          live.delete(entry)
          timer.cancel()
        },
      }
      live.add(entry)
      return entry
    },
    sleep: (ms, s) => clock.sleep(ms, s),
    track: (work) => clock.track(work),
  }
  return scoped
}

/** Log lines in klog's shape, into a container's log. */
class ContainerLogger implements Logger {
  private readonly buffer: LogBuffer
  private readonly clock: Clock
  private readonly level: number
  private readonly fields: Record<string, unknown>
  private readonly tee: (line: string) => void

  constructor(buffer: LogBuffer, clock: Clock, level: number, fields: Record<string, unknown>, tee: (line: string) => void) {
    this.buffer = buffer
    this.clock = clock
    this.level = level
    this.fields = fields
    this.tee = tee
  }

  raw(line: string): void {
    this.buffer.write('stdout', line)
    this.tee(line)
  }

  private write(letter: 'I' | 'W' | 'E', message: string, fields: Record<string, unknown> = {}): void {
    const time = new Date(this.clock.now()).toISOString()
    let line = `${letter}${time.slice(5, 7)}${time.slice(8, 10)} ${time.slice(11, 23)}000       1 ] ${JSON.stringify(message)}`
    for (const [k, v] of Object.entries({ ...this.fields, ...fields })) line += ` ${k}=${typeof v === 'string' ? JSON.stringify(v) : safeJson(v)}`
    this.buffer.write('stderr', line.length > 16_384 ? `${line.slice(0, 16_384)}…` : line)
    this.tee(line)
  }

  error(message: string, fields?: Record<string, unknown>): void {
    this.write('E', message, fields)
  }
  warn(message: string, fields?: Record<string, unknown>): void {
    this.write('W', message, fields)
  }
  info(message: string, fields?: Record<string, unknown>): void {
    this.write('I', message, fields)
  }
  v(level: number): Pick<Logger, 'info'> {
    return level <= this.level ? this : { info: () => {} }
  }
  with(fields: Record<string, unknown>): Logger {
    return new ContainerLogger(this.buffer, this.clock, this.level, { ...this.fields, ...fields }, this.tee)
  }
}

function safeJson(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(value.message)
  try {
    return JSON.stringify(value) ?? 'null'
  } catch {
    return JSON.stringify(String(value))
  }
}

/** The units as images that are always present. */
class BuiltinImages implements ImageService {
  private readonly options: BuiltinRuntimeOptions
  constructor(options: BuiltinRuntimeOptions) {
    this.options = options
  }

  async pullImage(image: ImageSpec, _auth: AuthConfig | undefined): Promise<string> {
    const found = await this.imageStatus(image)
    if (!found) throw new RuntimeError('NotFound', `no component in this build for image ${JSON.stringify(image.image)}`)
    return found.id
  }

  async imageStatus(spec: ImageSpec): Promise<Image | undefined> {
    // A container may name its unit by command alone, so that any valid image counts as present.
    const ref = parseImageReference(spec.image)
    if (!ref) return undefined
    const name = `${ref.domain}/${ref.path}`
    return { id: `${name}:${ref.tag}`, repoTags: [`${name}:${ref.tag}`], repoDigests: [`${name}@builtin`], size: 0, username: '', pinned: true }
  }

  async listImages(): Promise<Image[]> {
    const names = [...this.options.units.keys()].filter((k) => k.includes('/') || k.includes(':'))
    return (await Promise.all(names.map((image) => this.imageStatus({ image })))).filter((i) => i !== undefined)
  }

  async removeImage(): Promise<void> {}

  async imageFsInfo(): Promise<Awaited<ReturnType<ImageService['imageFsInfo']>>> {
    return { imageFilesystems: [], containerFilesystems: [] }
  }
}
