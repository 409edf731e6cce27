import type { corev1 } from '../../../api/index.ts'
import { type ErrorList, FieldPath, invalid, notSupported, required } from '../../../apimachinery/field.ts'
import { isLegacyIP, validateNonSpecialIP } from '../../../apimachinery/validation/ip.ts'
import { isDNS1123Label, isDNS1123Subdomain, isPortNumber, isQualifiedName } from '../../../apimachinery/validation/names.ts'
import type { KindRegistration } from '../../../apiserver/registry/strategy.ts'
import { deepEqual } from '../../../base/index.ts'
import { ipWarnings } from '../../address-warnings.ts'
import { firstFew } from '../../columns.ts'
import { NONE, namedColumns } from '../../named-age.ts'

type Endpoints = corev1.Endpoints

const PROTOCOLS = ['SCTP', 'TCP', 'UDP']

function validate(endpoints: Endpoints, old?: Endpoints): ErrorList {
  if (old && deepEqual(endpoints.subsets, old.subsets)) return []
  const known = (old?.subsets ?? []).flatMap((s) => [...(s.addresses ?? []), ...(s.notReadyAddresses ?? [])]).map((a) => a.ip)
  return (endpoints.subsets ?? []).flatMap((subset, i) => {
    const path = FieldPath.root('subsets').index(i)
    const { addresses = [], notReadyAddresses = [], ports = [] } = subset
    const errors: ErrorList = []
    if (addresses.length === 0 && notReadyAddresses.length === 0) errors.push(required(path, 'must specify `addresses` or `notReadyAddresses`'))
    for (const [k, address] of addresses.entries()) errors.push(...validateAddress(address, path.child('addresses').index(k), known))
    for (const [k, address] of notReadyAddresses.entries()) errors.push(...validateAddress(address, path.child('notReadyAddresses').index(k), known))
    for (const [k, port] of ports.entries()) errors.push(...validatePort(port, ports.length > 1, path.child('ports').index(k)))
    return errors
  })
}

function validateAddress(address: corev1.EndpointAddress, path: FieldPath, known: readonly string[]): ErrorList {
  const ip = address.ip ?? ''
  const errors: ErrorList = isLegacyIP(ip, known).map((text) => invalid(path.child('ip'), ip, text))
  if (address.hostname) for (const text of isDNS1123Label(address.hostname)) errors.push(invalid(path.child('hostname'), address.hostname, text))
  if (address.nodeName !== undefined)
    for (const text of isDNS1123Subdomain(address.nodeName)) errors.push(invalid(path.child('nodeName'), address.nodeName, text))
  return [...errors, ...validateNonSpecialIP(ip, path.child('ip'))]
}

function validatePort(port: corev1.EndpointPort, needsName: boolean, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  if (port.name) for (const text of isDNS1123Label(port.name)) errors.push(invalid(path.child('name'), port.name, text))
  else if (needsName) errors.push(required(path.child('name')))
  for (const text of isPortNumber(port.port ?? 0)) errors.push(invalid(path.child('port'), port.port ?? 0, text))
  if (!port.protocol) errors.push(required(path.child('protocol')))
  else if (!PROTOCOLS.includes(port.protocol)) errors.push(notSupported(path.child('protocol'), port.protocol, PROTOCOLS))
  if (port.appProtocol !== undefined)
    for (const text of isQualifiedName(port.appProtocol)) errors.push(invalid(path.child('appProtocol'), port.appProtocol, text))
  return errors
}

function warnings(endpoints: Endpoints): string[] {
  return (endpoints.subsets ?? []).flatMap((s, i) => {
    const path = FieldPath.root('subsets').index(i)
    return [
      ...(s.addresses ?? []).flatMap((a, k) => ipWarnings(a.ip, path.child('addresses').index(k).child('ip'))),
      ...(s.notReadyAddresses ?? []).flatMap((a, k) => ipWarnings(a.ip, path.child('notReadyAddresses').index(k).child('ip'))),
    ]
  })
}

const hostPort = (ip: string, port: number) => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)

function endpointsText(subsets: readonly corev1.EndpointSubset[] | undefined): string {
  if (!subsets?.length) return NONE
  const all = subsets.flatMap((s) => {
    const addresses = s.addresses ?? []
    if (!s.ports?.length) return addresses.map((a) => a.ip)
    return s.ports.flatMap((p) => addresses.map((a) => hostPort(a.ip, p.port)))
  })
  return firstFew(all, 3)
}

export const endpointsKind: KindRegistration<Endpoints> = {
  group: '',
  resource: 'endpoints',
  storage: { group: '', version: 'v1', kind: 'Endpoints' },
  strategy: {
    allowCreateOnUpdate: true,
    generation: 'none',
    defaults(endpoints) {
      for (const subset of endpoints.subsets ?? []) for (const port of subset.ports ?? []) port.protocol ||= 'TCP'
    },
    validate: (endpoints) => validate(endpoints),
    validateUpdate: validate,
    warningsOnCreate: warnings,
    warningsOnUpdate: warnings,
  },
  columns: namedColumns<Endpoints>('Endpoints|Age', (e) => [endpointsText(e.subsets)]),
}
