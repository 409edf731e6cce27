import type { corev1, discoveryv1, networkingv1 } from '../api/index.ts'
import { deepEqual } from '../base/index.ts'
import type { Logger } from '../component-base/component.ts'
import { type Family, machineAddresses } from './address.ts'
import type { ProxyConfig } from './config.ts'
import { type NodeFacts, nodeFacts, nodeRules } from './node-facts.ts'
import type { PacketFilter } from './packet-filter.ts'
import { changeText, deleteTable, fullText, joinParts, type RulePart, type Ruleset, tableOf } from './ruleset.ts'
import { servicePorts } from './service-ports.ts'
import { type ServiceRules, serviceRules } from './service-rules.ts'
import { type FlowFilter, staleFlows } from './stale-flows.ts'

/** What the API says, as the tables read it. */
export interface ClusterView {
  services(): readonly corev1.Service[]
  service(key: string): corev1.Service | undefined
  /** Of the Service with this key. */
  slices(key: string): readonly discoveryv1.EndpointSlice[]
  node(): corev1.Node | undefined
  serviceCIDRs(): readonly networkingv1.ServiceCIDR[]
}

export interface FamilyTableOptions {
  family: Family
  nodeName: string
  config: ProxyConfig
  view: ClusterView
  filter: PacketFilter
  log: Logger
  onCleanupFailure(): void
}

/** More than so many filters cost more than they are worth. */
const MAX_FLOW_FILTERS = 1000

/** The table of one family: what it shall hold, what the kernel holds, and the way from one to the other. */
export class FamilyTable {
  readonly family: Family
  private readonly options: FamilyTableOptions
  private readonly services = new Map<string, ServiceRules>()
  private facts: NodeFacts | undefined
  private nodePart: RulePart | undefined
  /** What the kernel is known to hold; undefined: nothing is known. */
  private applied: Ruleset | undefined
  /** By Service, what flows were made under. */
  private readonly flows = new Map<string, ServiceRules>()
  /** Commands that remove what is unused, not done yet. */
  private cleanup = ''

  constructor(options: FamilyTableOptions) {
    this.options = options
    this.family = options.family
  }

  rules(): ReadonlyMap<string, ServiceRules> {
    return this.services
  }

  get nodeAddresses(): NodeFacts['nodePortIPs'] {
    return this.facts?.nodePortIPs ?? []
  }

  /** Writes everything again the next time. */
  forget(): void {
    this.applied = undefined
  }

  /** Whether somebody took the table away. */
  async isGone(): Promise<boolean> {
    return this.applied !== undefined && !(await this.options.filter.hasTable(tableOf(this.family)))
  }

  /**
   * Brings the kernel to what the API says of these Services, or of all. Returns whether the whole table was written.
   * @throws Error of nft's: the table is as before, and the next sync writes all of it
   */
  async sync(dirty: ReadonlySet<string> | 'all'): Promise<{ full: boolean }> {
    const { view, filter, family } = this.options
    const all = this.refreshFacts() || dirty === 'all'
    const keys = all ? new Set([...this.services.keys(), ...view.services().map((s) => `${s.metadata.namespace}/${s.metadata.name}`)]) : dirty
    for (const key of keys as ReadonlySet<string>) this.compute(key)
    const wanted = joinParts([this.nodePart as RulePart, ...this.services.values()])
    const before = this.applied
    this.applied = undefined
    const change = before ? changeText(family, before, wanted) : undefined
    for (const text of change ? [change.apply] : fullText(family, wanted)) if (text !== '') await filter.apply(text)
    this.applied = wanted
    await this.forgetFlows()
    await this.removeUnused(change?.cleanup ?? '', change === undefined, wanted)
    return { full: change === undefined }
  }

  /** Takes the table away. */
  async remove(): Promise<void> {
    this.applied = undefined
    await this.options.filter.apply(deleteTable(this.family))
  }

  private refreshFacts(): boolean {
    const { config, nodeName, view, family } = this.options
    const facts = nodeFacts(config, nodeName, view.node(), view.serviceCIDRs(), machineAddresses(), family)
    if (this.facts && deepEqual(this.facts, facts)) return false
    this.facts = facts
    this.nodePart = nodeRules(facts, family)
    return true
  }

  private compute(key: string): void {
    const { view, family } = this.options
    const service = view.service(key)
    const ports = service ? servicePorts(service, family) : []
    if (ports.length === 0) this.services.delete(key)
    else this.services.set(key, serviceRules(ports, view.slices(key), family, this.facts as NodeFacts))
  }

  private async forgetFlows(): Promise<void> {
    const { filter, log, family } = this.options
    const filters: FlowFilter[] = []
    for (const key of new Set([...this.flows.keys(), ...this.services.keys()])) {
      const before = this.flows.get(key)
      const now = this.services.get(key)
      if (before === now) continue
      filters.push(...staleFlows(before, now, family))
      if (now?.ports.some((p) => p.port.protocol === 'udp')) this.flows.set(key, now)
      else this.flows.delete(key)
    }
    for (const f of filters.slice(0, MAX_FLOW_FILTERS)) {
      try {
        await filter.forgetFlows(f)
      } catch (e) {
        log.error('Failed to delete stale UDP flows', { err: (e as Error).message })
        return
      }
    }
  }

  private async removeUnused(more: string, fresh: boolean, now: Ruleset): Promise<void> {
    const { filter, log, onCleanupFailure, family } = this.options
    // A chain that is used again in between stays.
    const used = (line: string) => {
      const name = line.slice(line.lastIndexOf(' ') + 1)
      return now.chains.has(name) || now.affinitySets.has(name)
    }
    this.cleanup = fresh
      ? ''
      : [
          ...this.cleanup
            .split('\n')
            .filter((l) => l !== '' && !used(l))
            .map((l) => `${l}\n`),
          more,
        ].join('')
    if (this.cleanup === '') return
    const commands = this.cleanup
    this.cleanup = ''
    await filter.apply(commands).catch((e: Error) => {
      onCleanupFailure()
      log.error('nftables cleanup failed', { family, err: e.message })
      // A table that holds more than is known to be in it is made anew.
      this.applied = undefined
    })
  }
}
