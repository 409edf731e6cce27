import type { networkingv1 } from '../../api/index.ts'
import { type ErrorList, FieldPath, forbidden, invalid, notSupported, required } from '../../apimachinery/field.ts'
import { isLegacyCIDR, maskIP, parseCIDR } from '../../apimachinery/validation/ip.ts'
import { validateLabelSelector } from '../../apimachinery/validation/labels.ts'
import { isPortName, isPortNumber } from '../../apimachinery/validation/names.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { cidrWarnings } from '../address-warnings.ts'
import { networkPolicyColumns } from './columns.ts'

type Policy = networkingv1.NetworkPolicy

const SPEC = FieldPath.root('spec')
const PROTOCOLS = ['TCP', 'UDP', 'SCTP']
const TYPES = ['Egress', 'Ingress']

function blocks({ spec }: Policy): { block: networkingv1.IPBlock; path: FieldPath }[] {
  const out: { block: networkingv1.IPBlock; path: FieldPath }[] = []
  const add = (peers: readonly networkingv1.NetworkPolicyPeer[] | undefined, path: FieldPath) => {
    for (const [k, peer] of (peers ?? []).entries()) if (peer.ipBlock) out.push({ block: peer.ipBlock, path: path.index(k).child('ipBlock') })
  }
  for (const [i, rule] of (spec?.ingress ?? []).entries()) add(rule.from, SPEC.child('ingress').index(i).child('from'))
  for (const [i, rule] of (spec?.egress ?? []).entries()) add(rule.to, SPEC.child('egress').index(i).child('to'))
  return out
}

function validate(policy: Policy, old?: Policy): ErrorList {
  const spec = policy.spec ?? {}
  const known = (old ? blocks(old) : []).flatMap(({ block }) => [block.cidr, ...(block.except ?? [])])
  const errors: ErrorList = [...validateLabelSelector(spec.podSelector, SPEC.child('podSelector'))]
  for (const [i, rule] of (spec.ingress ?? []).entries()) {
    const path = SPEC.child('ingress').index(i)
    errors.push(...validatePorts(rule.ports, path.child('ports')), ...validatePeers(rule.from, path.child('from'), known))
  }
  for (const [i, rule] of (spec.egress ?? []).entries()) {
    const path = SPEC.child('egress').index(i)
    errors.push(...validatePorts(rule.ports, path.child('ports')), ...validatePeers(rule.to, path.child('to'), known))
  }
  const types = spec.policyTypes ?? []
  const path = SPEC.child('policyTypes')
  if (types.length > 2) return [...errors, invalid(path, types, 'may not specify more than two policyTypes')]
  for (const [i, type] of types.entries()) if (!TYPES.includes(type)) errors.push(notSupported(path.index(i), type, ['Ingress', 'Egress']))
  return errors
}

function validatePorts(ports: readonly networkingv1.NetworkPolicyPort[] | undefined, root: FieldPath): ErrorList {
  return (ports ?? []).flatMap((p, i) => {
    const path = root.index(i)
    const errors: ErrorList = []
    if (p.protocol !== undefined && !PROTOCOLS.includes(p.protocol)) errors.push(notSupported(path.child('protocol'), p.protocol, PROTOCOLS))
    const end = path.child('endPort')
    if (p.port !== undefined) {
      if (typeof p.port === 'number') {
        for (const text of isPortNumber(p.port)) errors.push(invalid(path.child('port'), p.port, text))
        if (p.endPort !== undefined) {
          if (p.endPort < p.port) errors.push(invalid(end, p.port, 'must be greater than or equal to `port`'))
          for (const text of isPortNumber(p.endPort)) errors.push(invalid(end, p.endPort, text))
        }
      } else {
        if (p.endPort !== undefined) errors.push(invalid(end, p.endPort, 'may not be specified when `port` is non-numeric'))
        for (const text of isPortName(p.port)) errors.push(invalid(path.child('port'), p.port, text))
      }
    } else if (p.endPort !== undefined) errors.push(invalid(end, p.endPort, 'may not be specified when `port` is not specified'))
    return errors
  })
}

function validatePeers(peers: readonly networkingv1.NetworkPolicyPeer[] | undefined, root: FieldPath, known: readonly string[]): ErrorList {
  return (peers ?? []).flatMap((peer, i) => {
    const path = root.index(i)
    const errors: ErrorList = []
    let count = 0
    if (peer.podSelector) {
      count++
      errors.push(...validateLabelSelector(peer.podSelector, path.child('podSelector')))
    }
    if (peer.namespaceSelector) {
      count++
      errors.push(...validateLabelSelector(peer.namespaceSelector, path.child('namespaceSelector')))
    }
    if (peer.ipBlock) {
      count++
      errors.push(...validateBlock(peer.ipBlock, path.child('ipBlock'), known))
    }
    if (count === 0) errors.push(required(path, 'must specify a peer'))
    else if (count > 1 && peer.ipBlock) errors.push(forbidden(path, 'may not specify both ipBlock and another peer'))
    return errors
  })
}

function validateBlock(block: networkingv1.IPBlock, path: FieldPath, known: readonly string[]): ErrorList {
  if (!block.cidr) return [required(path.child('cidr'))]
  const wrong = isLegacyCIDR(block.cidr, known).map((text) => invalid(path.child('cidr'), block.cidr, text))
  const outer = parseCIDR(block.cidr)
  if (!outer) return wrong
  const errors: ErrorList = [...wrong]
  for (const [i, except] of (block.except ?? []).entries()) {
    const at = path.child('except').index(i)
    errors.push(...isLegacyCIDR(except, known).map((text) => invalid(at, except, text)))
    const inner = parseCIDR(except)
    if (!inner) continue
    const base = maskIP(outer.address, outer.prefix)
    const inside =
      inner.address.bytes.length === outer.address.bytes.length &&
      inner.prefix > outer.prefix &&
      maskIP(inner.address, outer.prefix).every((b, k) => b === base[k])
    if (!inside) errors.push(invalid(at, except, 'must be a strict subset of `cidr`'))
  }
  return errors
}

function warnings(policy: Policy): string[] {
  return blocks(policy).flatMap(({ block, path }) => [
    ...cidrWarnings(block.cidr ?? '', path.child('cidr')),
    ...(block.except ?? []).flatMap((e, i) => cidrWarnings(e, path.child('except').index(i))),
  ])
}

export const networkPolicyKind: KindRegistration<Policy> = {
  group: 'networking.k8s.io',
  resource: 'networkpolicies',
  storage: { group: 'networking.k8s.io', version: 'v1', kind: 'NetworkPolicy' },
  strategy: {
    defaults({ spec }) {
      if (!spec) return
      for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) for (const port of rule.ports ?? []) port.protocol ??= 'TCP'
      if (!spec.policyTypes?.length) spec.policyTypes = spec.egress?.length ? ['Ingress', 'Egress'] : ['Ingress']
    },
    validate: (policy) => validate(policy),
    validateUpdate: validate,
    warningsOnCreate: warnings,
    warningsOnUpdate: warnings,
  },
  columns: networkPolicyColumns,
}
