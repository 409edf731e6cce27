import type { NodeInfo } from './node-info.ts'
import type { CycleState, Diagnosis, Plugin, Snapshot } from './plugin.ts'
import type { PodInfo } from './pod-info.ts'
import { errorStatus, isRejected, type Status } from './status.ts'

const skippedFilters = 'framework.skipFilter'
const activeFilters = 'framework.activeFilters'
const skippedScores = 'framework.skipScore'

/** Thrown when a plugin fails, as opposed to rejecting. */
export class PluginError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'PluginError'
  }
}

export interface WeightedPlugin {
  plugin: Plugin
  weight: number
}

/** Runs the plugins of a profile, point by point, in their order. */
export class FrameworkRunner {
  readonly plugins: readonly Plugin[]
  private readonly preFilters: readonly Plugin[]
  private readonly filters: readonly Plugin[]
  private readonly preScores: readonly Plugin[]
  private readonly scorers: readonly WeightedPlugin[]
  private readonly adjusters: readonly Plugin[]

  constructor(list: readonly WeightedPlugin[]) {
    this.plugins = list.map((w) => w.plugin)
    this.preFilters = this.plugins.filter((p) => p.preFilter)
    this.filters = this.plugins.filter((p) => p.filter)
    this.preScores = this.plugins.filter((p) => p.preScore)
    this.scorers = list.filter((w) => w.plugin.score)
    this.adjusters = this.plugins.filter((p) => p.adjust)
  }

  /** Returns the names of the nodes worth looking at (undefined: all), or fills `diagnosis.preFilterStatus` and returns null. */
  preFilter(state: CycleState, pod: PodInfo, snapshot: Snapshot, diagnosis: Diagnosis): ReadonlySet<string> | undefined | null {
    const skips = new Set<string>()
    state.set(skippedFilters, skips)
    let names: ReadonlySet<string> | undefined
    const narrowing: string[] = []
    let rejected: Status | undefined
    for (const plugin of this.preFilters) {
      const result = this.guard(plugin, 'PreFilter', () => plugin.preFilter?.(state, pod, snapshot))
      if (result === undefined) continue
      if (result instanceof Set) {
        narrowing.push(plugin.name)
        const previous = names
        names = previous ? new Set([...result].filter((n) => previous.has(n))) : (result as ReadonlySet<string>)
        if (names.size === 0) {
          const text =
            narrowing.length === 1 ? `node(s) didn't satisfy plugin ${plugin.name}` : `node(s) didn't satisfy plugin(s) [${narrowing.join(' ')}] simultaneously`
          diagnosis.preFilterStatus = { code: 'unresolvable', reasons: [text], plugin: plugin.name }
          for (const n of narrowing) diagnosis.plugins.add(n)
          return null
        }
        continue
      }
      const status = result as Status
      if (status.code === 'skip') skips.add(plugin.name)
      else if (isRejected(status)) {
        rejected = { ...status, plugin: plugin.name }
        diagnosis.plugins.add(plugin.name)
        if (status.code === 'unresolvable') break
      } else throw new PluginError(`running PreFilter plugin ${JSON.stringify(plugin.name)}: ${status.reasons.join(', ')}`, status.error)
    }
    if (rejected) {
      diagnosis.preFilterStatus = rejected
      return null
    }
    if (names) diagnosis.absentStatus = { code: 'unresolvable', reasons: [`node(s) didn't satisfy plugin(s) [${narrowing.join(' ')}]`] }
    return names
  }

  /** Undefined when the node is right for the Pod; else the first plugin's rejection. */
  filter(state: CycleState, pod: PodInfo, node: NodeInfo): Status | undefined {
    let active = state.get(activeFilters) as readonly Plugin[] | undefined
    if (!active) {
      const skips = state.get(skippedFilters) as ReadonlySet<string> | undefined
      active = this.filters.filter((p) => !skips?.has(p.name))
      state.set(activeFilters, active)
    }
    for (const plugin of active) {
      const status = plugin.filter?.(state, pod, node)
      if (!status) continue
      if (!isRejected(status)) throw new PluginError(`running ${JSON.stringify(plugin.name)} filter plugin: ${status.reasons.join(', ')}`, status.error)
      return status.plugin ? status : { ...status, plugin: plugin.name }
    }
    return undefined
  }

  adjust(state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, sign: 1 | -1): void {
    for (const plugin of this.adjusters) plugin.adjust?.(state, pod, other, node, sign)
  }

  /** A copy whose plugin states may be changed. */
  cloneState(state: CycleState): CycleState {
    const copy: CycleState = new Map(state)
    for (const plugin of this.plugins) {
      const own = copy.get(plugin.name)
      if (own !== undefined && plugin.cloneState) copy.set(plugin.name, plugin.cloneState(own))
    }
    return copy
  }

  /** Total scores, one per node. */
  score(state: CycleState, pod: PodInfo, nodes: readonly NodeInfo[], snapshot: Snapshot): number[] {
    const skips = new Set<string>()
    state.set(skippedScores, skips)
    for (const plugin of this.preScores) {
      const status = this.guard(plugin, 'PreScore', () => plugin.preScore?.(state, pod, nodes, snapshot))
      if (status?.code === 'skip') skips.add(plugin.name)
      else if (status) throw new PluginError(`running PreScore plugin ${JSON.stringify(plugin.name)}: ${status.reasons.join(', ')}`, status.error)
    }
    const totals = new Array<number>(nodes.length).fill(0)
    for (const { plugin, weight } of this.scorers) {
      if (skips.has(plugin.name)) continue
      const scores = nodes.map((n) => plugin.score?.(state, pod, n) ?? 0)
      plugin.normalize?.(state, pod, scores, nodes)
      for (let i = 0; i < scores.length; i++) totals[i] = (totals[i] as number) + weight * (scores[i] as number)
    }
    return totals
  }

  /** Runs Reserve; on failure what was reserved is given back, in reverse order. */
  reserve(state: CycleState, pod: PodInfo, nodeName: string): Status | undefined {
    for (const plugin of this.plugins) {
      const status = this.guard(plugin, 'Reserve', () => plugin.reserve?.(state, pod, nodeName))
      if (status) {
        this.unreserve(state, pod, nodeName)
        if (isRejected(status)) return { ...status, plugin: plugin.name }
        return errorStatus(new Error(`running Reserve plugin ${JSON.stringify(plugin.name)}: ${status.reasons.join(', ')}`))
      }
    }
    return undefined
  }

  unreserve(state: CycleState, pod: PodInfo, nodeName: string): void {
    for (const plugin of [...this.plugins].reverse()) plugin.unreserve?.(state, pod, nodeName)
  }

  preBindNeeded(state: CycleState, pod: PodInfo, nodeName: string): boolean {
    return this.plugins.some((p) => p.preBind && p.preBindNeeded?.(state, pod, nodeName) !== false)
  }

  async preBind(state: CycleState, pod: PodInfo, nodeName: string, signal: AbortSignal): Promise<Status | undefined> {
    for (const plugin of this.plugins) {
      if (!plugin.preBind || plugin.preBindNeeded?.(state, pod, nodeName) === false) continue
      const status = await plugin.preBind(state, pod, nodeName, signal).catch(errorStatus)
      if (status && status.code !== 'skip')
        return isRejected(status)
          ? { ...status, plugin: plugin.name }
          : errorStatus(new Error(`running PreBind plugin ${JSON.stringify(plugin.name)}: ${status.reasons.join(', ')}`))
    }
    return undefined
  }

  async bind(state: CycleState, pod: PodInfo, nodeName: string): Promise<Status | undefined> {
    for (const plugin of this.plugins) {
      if (!plugin.bind) continue
      const status = await plugin.bind(state, pod, nodeName).catch(errorStatus)
      if (status?.code === 'skip') continue
      return status ? errorStatus(new Error(`running Bind plugin ${JSON.stringify(plugin.name)}: ${status.reasons.join(', ')}`)) : undefined
    }
    return errorStatus(new Error('no bind plugin took the Pod'))
  }

  private guard<T>(plugin: Plugin, point: string, fn: () => T): T {
    try {
      return fn()
    } catch (e) {
      throw new PluginError(`running ${point} plugin ${JSON.stringify(plugin.name)}: ${e instanceof Error ? e.message : String(e)}`, e)
    }
  }
}
