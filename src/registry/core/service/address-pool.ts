import { type corev1, type networkingv1, resources } from '../../../api/index.ts'
import { isAlreadyExists, isNotFound } from '../../../apimachinery/errors.ts'
import { type CIDR, formatCIDR, formatIP, maskIP, parseCIDR, parseIP } from '../../../apimachinery/validation/ip.ts'
import { yielder } from '../../../base/yielder.ts'
import type { Client } from '../../../client/client.ts'
import { RANGE_FULL } from './port-pool.ts'

export const MANAGED_BY = 'ipaddress.kubernetes.io/managed-by'
export const IP_FAMILY = 'ipaddress.kubernetes.io/ip-family'
export const MANAGER = 'ipallocator.k8s.io'

export class AddressError extends Error {}

/** Whose address it is. */
type Owner = Pick<corev1.Service, 'metadata'>

/**
 * Cluster addresses: each taken one is an IPAddress object named by it, whose creation is the claim. Addresses come from
 * the server's own range and from every ServiceCIDR beside it.
 */
export class AddressPool {
  private readonly client: Client
  private readonly range: CIDR

  constructor(client: Client, range: string) {
    const cidr = parseCIDR(range)
    if (!cidr) throw new Error(`service range ${range} is no CIDR`)
    this.client = client
    this.range = cidr
  }

  get family(): 'IPv4' | 'IPv6' {
    return this.range.address.family === 4 ? 'IPv4' : 'IPv6'
  }

  /** @throws AddressError */
  async take(owner: Owner, text: string, dryRun: boolean): Promise<string> {
    const ip = parseIP(text)
    if (!ip) throw new AddressError('the provided network does not match the current range')
    const range = contains(this.range, ip.bytes) ? this.range : (await this.otherRanges()).find((r) => contains(r, ip.bytes))
    if (!range) throw new AddressError('the provided network does not match the current range')
    const at = offsetIn(range, ip.bytes)
    if (at < 1n || at > usable(range)) {
      throw new AddressError(`the provided IP (${text}) is not in the valid range. The range of valid IPs is ${formatCIDR(range)}`)
    }
    const name = formatIP(ip)
    if (!(await this.claim(owner, name, dryRun))) throw new AddressError('provided IP is already allocated')
    return name
  }

  /** @throws AddressError when there is none */
  async takeNext(owner: Owner, random: (below: number) => number, dryRun: boolean): Promise<string> {
    const tick = yielder()
    for (const range of [this.range, undefined]) {
      for (const r of range ? [range] : await this.otherRanges()) {
        const size = Number(usable(r) > 1_000_000n ? 1_000_000n : usable(r))
        // The low end is left for those who choose their address, while the rest lasts.
        const offset = size <= 16 ? 0 : Math.min(Math.max(16, size >> 4), 256)
        for (const [from, to] of [
          [offset, size],
          [0, offset],
        ] as const) {
          const count = to - from
          if (count <= 0) continue
          const start = random(count)
          for (let i = 0; i < count; i++) {
            const pause = tick()
            if (pause) await pause
            const name = addressAt(r, BigInt(from + ((start + i) % count)) + 1n)
            if (await this.claim(owner, name, dryRun)) return name
          }
        }
      }
    }
    throw new AddressError(RANGE_FULL)
  }

  async give(address: string): Promise<void> {
    await this.objects.delete(address).catch((error) => {
      if (!isNotFound(error)) throw error
    })
  }

  private get objects() {
    return this.client.resource(resources.networkingv1.ipaddresses)
  }

  private async claim({ metadata }: Owner, name: string, dryRun: boolean): Promise<boolean> {
    if (dryRun) {
      return this.objects.get(name, { resourceVersion: '0' }).then(
        () => false,
        (error) => {
          if (isNotFound(error)) return true
          throw error
        },
      )
    }
    try {
      await this.objects.create(ipAddressOf(metadata, name))
      return true
    } catch (error) {
      if (isAlreadyExists(error)) return false
      throw error
    }
  }

  private async otherRanges(): Promise<CIDR[]> {
    const own = formatCIDR(this.range)
    const list = await this.client.resource(resources.networkingv1.servicecidrs).list({ resourceVersion: '0' })
    return list.items
      .filter((c) => !c.metadata.deletionTimestamp)
      .flatMap((c: networkingv1.ServiceCIDR) => c.spec?.cidrs ?? [])
      .map(parseCIDR)
      .filter((c): c is CIDR => c !== undefined && formatCIDR(c) !== own && c.address.family === this.range.address.family)
  }
}

export function ipAddressOf(owner: corev1.Service['metadata'], address: string): networkingv1.IPAddress {
  return {
    metadata: { name: address, labels: { [IP_FAMILY]: parseIP(address)?.family === 6 ? 'IPv6' : 'IPv4', [MANAGED_BY]: MANAGER } },
    spec: { parentRef: { group: '', resource: 'services', namespace: owner.namespace ?? '', name: owner.name ?? '' } },
  } as networkingv1.IPAddress
}

function contains(range: CIDR, bytes: readonly number[]): boolean {
  if (bytes.length !== range.address.bytes.length) return false
  const base = maskIP(range.address, range.prefix)
  return maskIP({ ...range.address, bytes }, range.prefix).every((b, i) => b === base[i])
}

const toNumber = (bytes: readonly number[]): bigint => bytes.reduce((n, b) => (n << 8n) | BigInt(b), 0n)

function offsetIn(range: CIDR, bytes: readonly number[]): bigint {
  return toNumber(bytes) - toNumber(maskIP(range.address, range.prefix))
}

/** How many addresses there are: neither the network's own nor, in IPv4, the broadcast address. */
function usable(range: CIDR): bigint {
  const total = 1n << BigInt(range.address.bytes.length * 8 - range.prefix)
  return range.address.family === 4 ? total - 2n : total - 1n
}

function addressAt(range: CIDR, offset: bigint): string {
  let n = toNumber(maskIP(range.address, range.prefix)) + offset
  const bytes: number[] = []
  for (let i = 0; i < range.address.bytes.length; i++) {
    bytes.unshift(Number(n & 255n))
    n >>= 8n
  }
  return formatIP({ family: range.address.family, bytes })
}
