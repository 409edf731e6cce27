import type { corev1 } from '../../../api/index.ts'
import { newInternalError, newInvalid, type StatusError } from '../../../apimachinery/errors.ts'
import { FieldPath, invalid } from '../../../apimachinery/field.ts'
import type { Reservation, StrategyContext } from '../../../apiserver/registry/strategy.ts'
import { AddressError, type AddressPool } from './address-pool.ts'
import { familiesUnchanged, fillFamilies, keepAllocated, syncClusterIPs } from './families.ts'
import { HEADLESS, isHeadless, mayHaveNodePorts, needsHealthCheckPort, needsNodePort, nodePortsOf } from './needs.ts'
import { type PortBits, PortError, type PortPool } from './port-pool.ts'

type Service = corev1.Service

const SPEC = FieldPath.root('spec')

export interface ServicePools {
  readonly addresses: AddressPool
  readonly ports: PortPool
}

const refusal = (service: Service, path: FieldPath, value: unknown, text: string): StatusError =>
  newInvalid({ group: '', kind: 'Service' }, service.metadata.name ?? '', [invalid(path, value, text)])

/** Gives a Service its addresses and ports; what it held and no longer wants goes free once it is stored. */
export async function reserveForService(pools: ServicePools, service: Service, old: Service | undefined, context: StrategyContext): Promise<Reservation> {
  if (old) keepAllocated(service, old)
  syncClusterIPs(service, old)
  if (!old || !familiesUnchanged(service, old)) fillFamilies(service, old, pools.addresses.family)
  const addresses = await takeAddresses(pools, service, old, context)
  const giveAddresses = async (list: readonly string[]) => {
    for (const address of list) await pools.addresses.give(address)
  }
  let ports: number[]
  try {
    ports = await takePorts(pools, service, old, context)
  } catch (error) {
    if (!context.dryRun) await giveAddresses(addresses)
    throw error
  }
  const givePorts = (list: readonly number[]) =>
    list.length === 0
      ? undefined
      : pools.ports.change((bits) => {
          for (const port of list) bits.give(port)
        })
  const release = async () => {
    await giveAddresses(addresses)
    await givePorts(ports)
  }
  if (context.dryRun) return { commit: async () => {}, release: async () => {} }
  return {
    release,
    async commit() {
      if (!old) return
      const kept = new Set(allPorts(service))
      await givePorts(allPorts(old).filter((p) => !kept.has(p)))
      if (service.spec.type === 'ExternalName' && old.spec.type !== 'ExternalName') await giveAddresses(addressesOf(old))
    },
  }
}

export async function releaseOfService(pools: ServicePools, service: Service): Promise<void> {
  const ports = allPorts(service)
  if (ports.length) {
    await pools.ports.change((bits) => {
      for (const port of ports) bits.give(port)
    })
  }
  for (const address of addressesOf(service)) await pools.addresses.give(address)
}

export const addressesOf = ({ spec }: Service): string[] => (spec.type === 'ExternalName' ? [] : (spec.clusterIPs ?? []).filter((ip) => ip && ip !== HEADLESS))
export const allPorts = (service: Service): number[] => {
  const { healthCheckNodePort: health } = service.spec
  return [...new Set([...nodePortsOf(service), ...(health ? [health] : [])])]
}

async function takeAddresses(pools: ServicePools, service: Service, old: Service | undefined, context: StrategyContext): Promise<string[]> {
  const { spec } = service
  if (spec.type === 'ExternalName' || isHeadless(service)) return []
  // An address once given stays; what validation says of a change is not this function's matter.
  if (old && old.spec.type !== 'ExternalName') return []
  const wanted = spec.clusterIPs?.[0]
  try {
    const address = wanted
      ? await pools.addresses.take(service, wanted, context.dryRun)
      : await pools.addresses.takeNext(service, (below) => context.random(below), context.dryRun)
    if (!wanted) {
      spec.clusterIP = address
      spec.clusterIPs = [address]
    }
    return [address]
  } catch (error) {
    if (!(error instanceof AddressError)) throw error
    if (!wanted) throw newInternalError(`failed to allocate a serviceIP for Service ${JSON.stringify(service.metadata.name)}: ${error.message}`)
    throw refusal(service, SPEC.child('clusterIPs'), spec.clusterIPs, `failed to allocate IP ${wanted}: ${error.message}`)
  }
}

async function takePorts(pools: ServicePools, service: Service, old: Service | undefined, context: StrategyContext): Promise<number[]> {
  const health = needsHealthCheckPort(service) && !(old && needsHealthCheckPort(old))
  if (!mayHaveNodePorts(service) && !health) return []
  const ports = service.spec.ports ?? []
  const before = new Set(old ? nodePortsOf(old) : [])
  if (!health && ports.every((p) => (p.nodePort ? before.has(p.nodePort) : !needsNodePort(service)))) return []
  const random = (below: number) => context.random(below)
  const plan = await pools.ports.change((bits) => {
    const numbers = ports.map((p) => p.nodePort ?? 0)
    const taken = planPorts(service, numbers, before, bits, random)
    return { numbers, taken, health: health ? planHealthCheck(service, bits, taken, random) : 0 }
  }, context.dryRun)
  for (const [i, port] of ports.entries()) if (plan.numbers[i]) port.nodePort = plan.numbers[i] as number
  if (plan.health) service.spec.healthCheckNodePort = plan.health
  return plan.taken
}

/** Fills `numbers`; ports of one number (over several protocols) share a node port. @returns what was taken */
function planPorts(service: Service, numbers: number[], before: ReadonlySet<number>, bits: PortBits, random: (below: number) => number): number[] {
  const taken: number[] = []
  const ports = service.spec.ports ?? []
  const byPort = new Map<number, number>()
  const take = (i: number, wanted: number) => {
    if (before.has(wanted)) return
    try {
      bits.take(wanted)
    } catch (error) {
      if (!(error instanceof PortError)) throw error
      throw refusal(service, SPEC.child('ports').index(i).child('nodePort'), wanted, error.message)
    }
    taken.push(wanted)
  }
  const seen = new Set<number>()
  for (const [i, port] of ports.entries()) {
    const own = numbers[i] as number
    if (own === 0 && !needsNodePort(service)) continue
    const shared = byPort.get(port.port) ?? 0
    if (own !== 0) {
      if (own !== shared && !(before.size > 0 && seen.has(own))) take(i, own)
      seen.add(own)
      if (shared === 0) byPort.set(port.port, own)
      continue
    }
    if (shared !== 0 && before.size === 0) {
      numbers[i] = shared
      continue
    }
    const asked = before.size === 0 ? ports.find((p, j) => p.port === port.port && (numbers[j] as number) !== 0 && j > i)?.nodePort : undefined
    if (asked) take(i, asked)
    let number = asked
    if (!number) {
      try {
        number = bits.takeNext(random)
      } catch (error) {
        throw newInternalError(`failed to allocate a nodePort: ${(error as Error).message}`)
      }
      taken.push(number)
    }
    numbers[i] = number
    byPort.set(port.port, number)
  }
  return taken
}

function planHealthCheck(service: Service, bits: PortBits, taken: number[], random: (below: number) => number): number {
  const wanted = service.spec.healthCheckNodePort ?? 0
  try {
    if (wanted !== 0) bits.take(wanted)
    const port = wanted || bits.takeNext(random)
    taken.push(port)
    return port
  } catch (error) {
    if (!(error instanceof PortError)) throw error
    const what = wanted !== 0 ? 'failed to allocate requested HealthCheck NodePort' : 'failed to allocate a HealthCheck NodePort'
    throw newInternalError(`${what} ${wanted}: ${error.message}`)
  }
}
