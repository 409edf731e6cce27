import type { EndpointAddress, EndpointPort, EndpointSubset } from '../../api/core/v1/types.generated.ts'

const MAX_ADDRESSES = 1000

const addressKey = (a: EndpointAddress): string => `${a.ip}|${a.targetRef?.uid ?? ''}|${a.hostname ?? ''}|${a.nodeName ?? ''}`
const portKey = (p: EndpointPort): string => JSON.stringify([p.name ?? '', p.port, p.protocol ?? '', p.appProtocol ?? ''])

/** Puts addresses with the same set of ports into one subset; all lists are sorted, so that equal content is equal. */
export function repackSubsets(subsets: readonly EndpointSubset[]): EndpointSubset[] {
  const seen = new Map<string, { address: EndpointAddress; ready: boolean; ports: Map<string, EndpointPort> }>()
  for (const subset of subsets) {
    const note = (address: EndpointAddress, ready: boolean) => {
      const key = addressKey(address)
      let entry = seen.get(key)
      if (!entry) seen.set(key, (entry = { address, ready, ports: new Map() }))
      // Not ready in one place is not ready.
      entry.ready &&= ready
      for (const port of subset.ports ?? []) entry.ports.set(portKey(port), port)
    }
    for (const address of subset.addresses ?? []) note(address, true)
    for (const address of subset.notReadyAddresses ?? []) note(address, false)
  }
  const groups = new Map<string, { ports: EndpointPort[]; ready: EndpointAddress[]; notReady: EndpointAddress[] }>()
  for (const { address, ready, ports } of seen.values()) {
    const id = [...ports.keys()].sort().join('')
    let group = groups.get(id)
    if (!group) groups.set(id, (group = { ports: [...ports.values()], ready: [], notReady: [] }))
    ;(ready ? group.ready : group.notReady).push(address)
  }
  const byIp = (a: EndpointAddress, b: EndpointAddress) => (addressKey(a) < addressKey(b) ? -1 : 1)
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { ports, ready, notReady }]) => ({
      ...(ready.length > 0 ? { addresses: ready.sort(byIp) } : {}),
      ...(notReady.length > 0 ? { notReadyAddresses: notReady.sort(byIp) } : {}),
      ...(ports.length > 0 ? { ports } : {}),
    }))
}

/** At most 1000 addresses: ready ones stay first, each subset gives up in proportion. */
export function truncateSubsets(subsets: EndpointSubset[]): { subsets: EndpointSubset[]; truncated: boolean } {
  const ready = subsets.reduce((n, s) => n + (s.addresses?.length ?? 0), 0)
  const notReady = subsets.reduce((n, s) => n + (s.notReadyAddresses?.length ?? 0), 0)
  if (ready + notReady <= MAX_ADDRESSES) return { subsets, truncated: false }
  const cut = (list: EndpointAddress[] | undefined, total: number, room: number) =>
    total <= room ? (list ?? []) : (list ?? []).slice(0, Math.floor(((list?.length ?? 0) * room) / total))
  const out: EndpointSubset[] = []
  for (const s of subsets) {
    const addresses = cut(s.addresses, ready, MAX_ADDRESSES)
    const notReadyAddresses = cut(s.notReadyAddresses, notReady, Math.max(0, MAX_ADDRESSES - ready))
    if (addresses.length + notReadyAddresses.length === 0) continue
    out.push({
      ...(addresses.length > 0 ? { addresses } : {}),
      ...(notReadyAddresses.length > 0 ? { notReadyAddresses } : {}),
      ...(s.ports ? { ports: s.ports } : {}),
    })
  }
  return { subsets: out, truncated: true }
}
