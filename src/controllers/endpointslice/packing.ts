import type { Endpoint, EndpointSlice } from '../../api/discovery/v1/types.generated.ts'
import { deepEqual } from '../../base/index.ts'
import { endpointKey } from './endpoint.ts'

export interface Packed {
  /** Endpoints of slices to make. */
  create: Endpoint[][]
  update: { slice: EndpointSlice; endpoints: Endpoint[] }[]
  remove: EndpointSlice[]
  unchanged: EndpointSlice[]
}

/**
 * Spreads the wanted endpoints over slices of one port set so that as few slices as possible change: what is there stays where
 * it is, the rest fills slices that change anyway, then one with room, then new ones.
 */
export function pack(existing: readonly EndpointSlice[], wanted: readonly Endpoint[], max: number): Packed {
  const left = new Map(wanted.map((e) => [endpointKey(e), e]))
  const remove: EndpointSlice[] = []
  const changing: { slice: EndpointSlice; endpoints: Endpoint[] }[] = []
  let unchanged: EndpointSlice[] = []
  for (const slice of existing) {
    const endpoints: Endpoint[] = []
    let changed = false
    for (const old of slice.endpoints ?? []) {
      const now = left.get(endpointKey(old))
      if (!now) {
        changed = true
        continue
      }
      left.delete(endpointKey(old))
      if (!deepEqual(old, now)) changed = true
      endpoints.push(now)
    }
    if (endpoints.length === 0) remove.push(slice)
    else if (changed) changing.push({ slice, endpoints })
    else unchanged.push(slice)
  }
  const rest = [...left.values()]
  changing.sort((a, b) => b.endpoints.length - a.endpoints.length)
  for (const target of changing) target.endpoints.push(...rest.splice(0, Math.max(0, max - target.endpoints.length)))
  const create: Endpoint[][] = []
  while (rest.length > 0) {
    if (rest.length < max) {
      const fit = unchanged
        .filter((s) => (s.endpoints ?? []).length + rest.length <= max)
        .sort((a, b) => (b.endpoints ?? []).length - (a.endpoints ?? []).length)[0]
      if (fit) {
        unchanged = unchanged.filter((s) => s !== fit)
        changing.push({ slice: fit, endpoints: [...(fit.endpoints ?? []), ...rest.splice(0)] })
        break
      }
    }
    create.push(rest.splice(0, max))
  }
  return { create, update: changing, remove, unchanged }
}
