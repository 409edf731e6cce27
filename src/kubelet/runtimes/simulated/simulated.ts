import type { Clock, Random } from '../../../base/index.ts'
import { type ContainerConfig, type PodSandboxConfig, RuntimeError } from '../../runtime/runtime.ts'
import { type ContainerEngine, type ContainerRecord, type Exit, InProcessRuntime, type SandboxRecord } from '../in-process/runtime.ts'
import { type Step, understandCommand } from './command.ts'
import { SimulatedImages } from './images.ts'
import { type Script, SIMULATE_ANNOTATION, scriptFor } from './script.ts'

export interface SimulatedRuntimeOptions {
  clock: Clock
  random: Random
  /** The range Pod addresses come from, until the Node object has one of its own. @default 10.244.0.0/24 */
  podCIDR?: string
  /** Lets commands whose end is unknown go on for ever even where the Pod waits for them. @default false */
  neverEnd?: boolean
}

const ONE_SHOT_MS = 1000
const SANDBOX_MS = 20
const START_MS = 10

/** Pods without processes: every phase, address and event, at next to no cost, on any system. */
export function createSimulatedRuntime(options: SimulatedRuntimeOptions): SimulatedRuntime {
  return new SimulatedRuntime(options)
}

export class SimulatedRuntime extends InProcessRuntime {
  private readonly addresses: AddressPool
  constructor(options: SimulatedRuntimeOptions) {
    const addresses = new AddressPool(options.podCIDR ?? '10.244.0.0/24')
    super({ clock: options.clock, random: options.random, engine: new SimulatedEngine(options, addresses) })
    this.addresses = addresses
  }

  async updateRuntimeConfig(podCIDR: string): Promise<void> {
    this.addresses.setRange(podCIDR)
  }
}

class SimulatedEngine implements ContainerEngine {
  readonly name = 'simulated'
  readonly version = '1.0.0'
  readonly images: SimulatedImages
  private readonly clock: Clock
  private readonly neverEnd: boolean
  private readonly addresses: AddressPool

  constructor(options: SimulatedRuntimeOptions, addresses: AddressPool) {
    this.clock = options.clock
    this.neverEnd = options.neverEnd ?? false
    this.images = new SimulatedImages(options.clock)
    this.addresses = addresses
  }

  readonly pretend = (c: ContainerRecord, type: 'liveness' | 'readiness' | 'startup' | 'hook'): { ok: boolean; output: string } => {
    const script = scriptOf(c)
    const age = this.clock.now() - c.startedAt
    if (type === 'hook') return { ok: true, output: '' }
    if (script.readyMs !== undefined && age < script.readyMs && type !== 'liveness')
      return { ok: false, output: `simulated: ready ${script.readyMs / 1000}s after the start` }
    if (script.unreadyMs !== undefined && age >= script.unreadyMs && type === 'readiness')
      return { ok: false, output: `simulated: not ready from ${script.unreadyMs / 1000}s after the start` }
    if (script.liveMs !== undefined && age >= script.liveMs && type === 'liveness')
      return { ok: false, output: `simulated: dead from ${script.liveMs / 1000}s after the start` }
    return { ok: true, output: '' }
  }

  async openSandbox(config: PodSandboxConfig, signal: AbortSignal | undefined): Promise<string[]> {
    await this.clock.sleep(SANDBOX_MS, signal)
    if (config.linux.securityContext.namespaceOptions.network === 'NODE') return []
    const ip = this.addresses.take()
    if (!ip) {
      throw new RuntimeError(
        'Unknown',
        `failed to setup network for sandbox: plugin type="simulated" failed (add): no IP addresses available in range set: ${this.addresses.range}`,
      )
    }
    return [ip]
  }

  closeSandbox(sandbox: SandboxRecord): void {
    for (const ip of sandbox.ips) this.addresses.give(ip)
  }

  async create(_sandbox: SandboxRecord, config: ContainerConfig): Promise<void> {
    const script = scriptFor(_sandbox.config.annotations[SIMULATE_ANNOTATION], config.metadata.name)
    if (script.createError !== undefined) throw new RuntimeError('Unknown', script.createError)
  }

  async start(c: ContainerRecord, signal: AbortSignal): Promise<{ ended: Promise<Exit> }> {
    const script = scriptOf(c)
    await this.clock.sleep(START_MS)
    if (script.startError !== undefined) throw new RuntimeError('Unknown', script.startError)
    const { config } = c
    const steps = this.plan(c, script)
    c.log.write(
      'stdout',
      `simulated: container ${config.metadata.name} of image ${config.image.userSpecifiedImage || config.image.image} runs; no process is behind it`,
    )
    if (script.log !== undefined) c.log.write('stdout', script.log)
    return { ended: this.run(c, steps, script, signal) }
  }

  /** What the container will do: its script, else its command where that is understood, else run until stopped. */
  private plan(c: ContainerRecord, script: Script): Step[] {
    const { config } = c
    const mustEnd = config.role === 'init' || (config.role === 'regular' && Object.hasOwn(c.sandbox.config.labels, 'batch.kubernetes.io/job-name'))
    if (script.runMs !== undefined && (script.times === undefined || config.metadata.attempt < script.times)) {
      return [
        { do: 'sleep', ms: script.runMs },
        { do: 'exit', code: script.exitCode ?? 0 },
      ]
    }
    const steps = script.runMs === undefined ? understandCommand([...config.command, ...config.args]) : undefined
    if (steps) return steps
    if (mustEnd && !this.neverEnd) {
      return [
        { do: 'sleep', ms: ONE_SHOT_MS },
        { do: 'exit', code: 0 },
      ]
    }
    return [{ do: 'sleep', ms: Number.POSITIVE_INFINITY }]
  }

  private async run(c: ContainerRecord, steps: Step[], script: Script, signal: AbortSignal): Promise<Exit> {
    try {
      for (const step of steps) {
        if (step.do === 'print') c.log.write('stdout', step.text)
        else if (step.do === 'sleep') await this.wait(step.ms, signal)
        else {
          const exit: Exit = { code: step.code }
          if (script.reason !== undefined) exit.reason = script.reason
          if (script.message !== undefined) exit.message = script.message
          return exit
        }
      }
      return { code: 0 }
    } catch {
      if (script.stopMs === Number.POSITIVE_INFINITY) await new Promise<never>(() => {})
      await this.clock.sleep(script.stopMs ?? 50)
      return { code: 0 }
    }
  }

  private wait(ms: number, signal: AbortSignal): Promise<void> {
    if (Number.isFinite(ms)) return this.clock.sleep(ms, signal)
    return new Promise((_, reject) => {
      if (signal.aborted) return reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }

  async exec(c: ContainerRecord, command: readonly string[]): Promise<never> {
    const name = c.config.metadata.name
    throw new RuntimeError(
      'Unknown',
      `container "${name}" is simulated: no process is behind it, so ${JSON.stringify(command[0] ?? '')} cannot run in it (use a node with real containers for exec, attach and port-forward)`,
    )
  }

  stats(c: ContainerRecord): { cpuNanoCores: number; memoryBytes: number } {
    // A steady share of what was asked for: enough for `kubectl top` and autoscalers to show something.
    const shares = c.config.linux.resources.cpuShares ?? 2
    return {
      cpuNanoCores: Math.round(((shares * 1000) / 1024) * 0.1 * 1e6),
      memoryBytes: Math.round((c.config.linux.resources.memoryLimitInBytes || 64 << 20) * 0.3),
    }
  }
}

function scriptOf(c: ContainerRecord): Script {
  return scriptFor(c.sandbox.config.annotations[SIMULATE_ANNOTATION], c.config.metadata.name)
}

/** IPv4 addresses of a range: network, gateway and broadcast addresses are never given; the longest unused comes first. */
class AddressPool {
  range: string
  private base = 0
  private size = 0
  private next = 2
  private readonly used = new Set<string>()

  constructor(range: string) {
    this.range = range
    this.setRange(range)
  }

  setRange(range: string): void {
    const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/.exec(range)
    if (!match) return
    const [a, b, c, d, bits] = match.slice(1).map(Number) as [number, number, number, number, number]
    if (bits > 30 || bits < 8) return
    const size = 2 ** (32 - bits)
    const base = Math.floor((((a * 256 + b) * 256 + c) * 256 + d) / size) * size
    if (base === this.base && size === this.size) return
    this.range = range
    this.base = base
    this.size = size
    this.next = 2
  }

  take(): string | undefined {
    for (let tried = 0; tried < this.size - 3; tried++) {
      const n = this.base + this.next
      this.next = this.next + 1 >= this.size - 1 ? 2 : this.next + 1
      const ip = `${Math.floor(n / 2 ** 24)}.${Math.floor(n / 65536) % 256}.${Math.floor(n / 256) % 256}.${n % 256}`
      if (this.used.has(ip)) continue
      this.used.add(ip)
      return ip
    }
    return undefined
  }

  give(ip: string): void {
    this.used.delete(ip)
  }
}
