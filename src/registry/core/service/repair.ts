import { type corev1, resources } from '../../../api/index.ts'
import { isAlreadyExists } from '../../../apimachinery/errors.ts'
import type { Client } from '../../../client/client.ts'
import { ipAddressOf, MANAGED_BY, MANAGER } from './address-pool.ts'
import { addressesOf, allPorts, type ServicePools } from './reservation.ts'

/** How often something must be seen unused before it goes free: its Service may be on its way into the store. */
const ROUNDS = 3

/**
 * Brings the pools in line with the stored Services: what one holds is marked as taken, what a server lost between taking
 * and storing goes free after a few rounds.
 */
export class ServiceRepair {
  private readonly client: Client
  private readonly pools: ServicePools
  private unusedPorts = new Map<number, number>()
  private unusedAddresses = new Map<string, number>()

  constructor(client: Client, pools: ServicePools) {
    this.client = client
    this.pools = pools
  }

  async run(): Promise<void> {
    const addresses = await this.client.resource(resources.networkingv1.ipaddresses).list({ labelSelector: `${MANAGED_BY}=${MANAGER}` })
    const services = (await this.client.resource(resources.corev1.services).list()).items
    await this.repairPorts(services)
    await this.repairAddresses(services, new Set(addresses.items.map((a) => a.metadata.name ?? '')))
  }

  private async repairPorts(services: readonly corev1.Service[]): Promise<void> {
    const used = new Set(services.flatMap(allPorts))
    const seen = this.unusedPorts
    this.unusedPorts = await this.pools.ports.change((bits) => {
      const unused = new Map<number, number>()
      for (const port of used) if (bits.contains(port) && !bits.has(port)) bits.take(port)
      for (const port of bits.ports()) {
        if (used.has(port)) continue
        const rounds = (seen.get(port) ?? 0) + 1
        if (rounds >= ROUNDS) bits.give(port)
        else unused.set(port, rounds)
      }
      return unused
    })
  }

  private async repairAddresses(services: readonly corev1.Service[], known: ReadonlySet<string>): Promise<void> {
    const used = new Set<string>()
    for (const service of services) {
      for (const address of addressesOf(service)) {
        used.add(address)
        if (known.has(address)) continue
        await this.client
          .resource(resources.networkingv1.ipaddresses)
          .create(ipAddressOf(service.metadata, address))
          .catch((error) => {
            if (!isAlreadyExists(error)) throw error
          })
      }
    }
    const unused = new Map<string, number>()
    for (const address of known) {
      if (used.has(address)) continue
      const rounds = (this.unusedAddresses.get(address) ?? 0) + 1
      if (rounds >= ROUNDS) await this.pools.addresses.give(address)
      else unused.set(address, rounds)
    }
    this.unusedAddresses = unused
  }
}
