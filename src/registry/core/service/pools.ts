import { resources } from '../../../api/index.ts'
import type { Client } from '../../../client/client.ts'
import type { KV } from '../../../storage/kv/kv.ts'
import { AddressPool } from './address-pool.ts'
import { PortPool } from './port-pool.ts'
import { allPorts, type ServicePools } from './reservation.ts'

export interface ServicePoolOptions {
  readonly client: Client
  readonly kv: KV
  /** CIDR. */
  readonly clusterIPRange: string
  /** @default 30000-32767 */
  readonly nodePortRange?: { readonly first: number; readonly last: number }
}

/** The addresses and node ports that Services share. */
export function createServicePools(options: ServicePoolOptions): ServicePools {
  const { first, last } = options.nodePortRange ?? { first: 30000, last: 32767 }
  const inUse = async () => (await options.client.resource(resources.corev1.services).list()).items.flatMap(allPorts)
  return { addresses: new AddressPool(options.client, options.clusterIPRange), ports: new PortPool(options.kv, first, last, inUse) }
}
