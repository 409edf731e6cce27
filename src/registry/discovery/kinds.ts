import type { discoveryv1 } from '../../api/index.ts'
import { duplicate, type ErrorList, FieldPath, invalid, notSupported, required, tooMany } from '../../apimachinery/field.ts'
import { isIP, isLegacyIP, parseIP, validateNonSpecialIP } from '../../apimachinery/validation/ip.ts'
import { IMMUTABLE } from '../../apimachinery/validation/messages.ts'
import { isDNS1123Label, isDNS1123Subdomain, isLabelValue, isPortNumber, isQualifiedName } from '../../apimachinery/validation/names.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { ipWarnings } from '../address-warnings.ts'
import { endpointSliceColumns } from './columns.ts'

type Slice = discoveryv1.EndpointSlice

const TYPES = ['FQDN', 'IPv4', 'IPv6']
const PROTOCOLS = ['SCTP', 'TCP', 'UDP']
const MAX_ENDPOINTS = 1000
const MAX_ADDRESSES = 100
const MAX_PORTS = 20000
const MAX_HINTS = 8

function validate(slice: Slice, old?: Slice): ErrorList {
  const type = slice.addressType ?? ''
  const known = (old?.endpoints ?? []).flatMap((e) => e.addresses ?? [])
  const errors: ErrorList = []
  const path = FieldPath.root('addressType')
  if (type === '') errors.push(required(path))
  else if (!TYPES.includes(type)) errors.push(notSupported(path, type, TYPES))
  return [...errors, ...validateEndpoints(slice.endpoints ?? [], type, known), ...validatePorts(slice.ports ?? [])]
}

function validateEndpoints(endpoints: readonly discoveryv1.Endpoint[], type: string, known: readonly string[]): ErrorList {
  const root = FieldPath.root('endpoints')
  if (endpoints.length > MAX_ENDPOINTS) return [tooMany(root, endpoints.length, MAX_ENDPOINTS)]
  return endpoints.flatMap((endpoint, i) => {
    const path = root.index(i)
    const errors = validateAddresses(endpoint.addresses ?? [], type, known, path.child('addresses'))
    if (endpoint.nodeName !== undefined)
      for (const text of isDNS1123Subdomain(endpoint.nodeName)) errors.push(invalid(path.child('nodeName'), endpoint.nodeName, text))
    const topology = endpoint.deprecatedTopology ?? {}
    for (const key of Object.keys(topology).sort())
      for (const text of isQualifiedName(key)) errors.push(invalid(path.child('deprecatedTopology').key(key), key, text))
    if (endpoint.hostname !== undefined)
      for (const text of isDNS1123Label(endpoint.hostname)) errors.push(invalid(path.child('hostname'), endpoint.hostname, text))
    if (endpoint.hints) {
      errors.push(...validateHints(endpoint.hints.forZones ?? [], path.child('hints', 'forZones'), isLabelValue))
      errors.push(...validateHints(endpoint.hints.forNodes ?? [], path.child('hints', 'forNodes'), isDNS1123Subdomain))
    }
    return errors
  })
}

function validateAddresses(addresses: readonly string[], type: string, known: readonly string[], path: FieldPath): ErrorList {
  const errors: ErrorList = []
  if (addresses.length === 0) errors.push(required(path, 'must contain at least 1 address'))
  else if (addresses.length > MAX_ADDRESSES) errors.push(tooMany(path, addresses.length, MAX_ADDRESSES))
  for (const [i, address] of addresses.entries()) {
    const at = path.index(i)
    if (type === 'FQDN') {
      for (const text of isDNS1123Subdomain(address)) errors.push(invalid(at, address, text))
      continue
    }
    if (type !== 'IPv4' && type !== 'IPv6') continue
    const wrong = known.includes(address) ? isLegacyIP(address, known) : isIP(address)
    const family = parseIP(address)?.family === 6 ? 'IPv6' : 'IPv4'
    if (wrong.length) errors.push(...wrong.map((text) => invalid(at, address, text)))
    else if (family !== type) errors.push(invalid(path, address, `must be an ${type} address`))
    errors.push(...(wrong.length && !parseIP(address) ? [] : validateNonSpecialIP(address, at)))
  }
  return errors
}

function validateHints(hints: readonly { name: string }[], path: FieldPath, rule: (name: string) => string[]): ErrorList {
  if (hints.length > MAX_HINTS) return [tooMany(path, hints.length, MAX_HINTS)]
  const seen = new Set<string>()
  return hints.flatMap(({ name }, i) => {
    const at = path.index(i).child('name')
    const errors = seen.has(name) ? [duplicate(at, name)] : []
    seen.add(name)
    return [...errors, ...rule(name).map((text) => invalid(at, name, text))]
  })
}

function validatePorts(ports: readonly discoveryv1.EndpointPort[]): ErrorList {
  const root = FieldPath.root('ports')
  if (ports.length > MAX_PORTS) return [tooMany(root, ports.length, MAX_PORTS)]
  const names = new Set<string>()
  return ports.flatMap((port, i) => {
    const path = root.index(i)
    const name = port.name ?? ''
    const errors: ErrorList = name === '' ? [] : isDNS1123Label(name).map((text) => invalid(path.child('name'), name, text))
    if (names.has(name)) errors.push(duplicate(path.child('name'), name))
    names.add(name)
    if (port.port !== undefined && port.port !== null && port.port !== 0)
      for (const text of isPortNumber(port.port)) errors.push(invalid(path.child('port'), port.port, text))
    if (!port.protocol) errors.push(required(path.child('protocol')))
    else if (!PROTOCOLS.includes(port.protocol)) errors.push(notSupported(path.child('protocol'), port.protocol, PROTOCOLS))
    if (port.appProtocol !== undefined)
      for (const text of isQualifiedName(port.appProtocol)) errors.push(invalid(path.child('appProtocol'), port.appProtocol, text))
    return errors
  })
}

function warnings(slice: Slice): string[] {
  const out = slice.addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : []
  for (const [i, e] of (slice.endpoints ?? []).entries())
    for (const [k, address] of (e.addresses ?? []).entries()) out.push(...ipWarnings(address, FieldPath.root('endpoints').index(i).child('addresses').index(k)))
  return out
}

export const endpointSliceKind: KindRegistration<Slice> = {
  group: 'discovery.k8s.io',
  resource: 'endpointslices',
  storage: { group: 'discovery.k8s.io', version: 'v1', kind: 'EndpointSlice' },
  strategy: {
    defaults(slice) {
      for (const port of slice.ports ?? []) {
        port.name ??= ''
        port.protocol ??= 'TCP'
      }
    },
    prepareForCreate(slice) {
      for (const endpoint of slice.endpoints ?? []) delete endpoint.deprecatedTopology
    },
    validate: (slice) => validate(slice),
    prepareForUpdate(slice) {
      for (const endpoint of slice.endpoints ?? []) delete endpoint.deprecatedTopology
    },
    validateUpdate(slice, old) {
      const errors = validate(slice, old)
      if (slice.addressType !== old.addressType) errors.push(invalid(FieldPath.root('addressType'), slice.addressType, IMMUTABLE))
      return errors
    },
    canonicalize(slice) {
      const lists = slice as { endpoints?: unknown; ports?: unknown }
      if (!slice.endpoints?.length) lists.endpoints = null
      if (!slice.ports?.length) lists.ports = null
    },
    warningsOnCreate: warnings,
    warningsOnUpdate: warnings,
  },
  columns: endpointSliceColumns,
}
