import type { discoveryv1 } from '../../api/index.ts'
import { firstFew } from '../columns.ts'
import { namedColumns, UNSET } from '../named-age.ts'

export const endpointSliceColumns = namedColumns<discoveryv1.EndpointSlice>('AddressType|Ports|Endpoints|Age', (slice) => {
  const ports = (slice.ports ?? []).map((p) => (p.port !== undefined && p.port !== null ? String(p.port) : (p.name ?? '*')))
  const addresses = (slice.endpoints ?? []).flatMap((e) => e.addresses ?? [])
  return [slice.addressType, firstFew(ports, 3) || UNSET, addresses.length ? firstFew(addresses, 3) : UNSET]
})
