import type { networkingv1 } from '../../api/index.ts'
import { type ErrorList, FieldPath, invalid, notSupported, required } from '../../apimachinery/field.ts'
import { parseIP } from '../../apimachinery/validation/ip.ts'
import {
  isDNS1123Label,
  isDNS1123Subdomain,
  isPathSegmentName,
  isPortName,
  isPortNumber,
  isWildcardDNS1123Subdomain,
} from '../../apimachinery/validation/names.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { deepCopy } from '../../base/index.ts'
import { validateLoadBalancerStatus } from '../core/service/validation.ts'
import { ingressColumns } from './columns.ts'

type Ingress = networkingv1.Ingress

const SPEC = FieldPath.root('spec')
const CLASS = 'kubernetes.io/ingress.class'
const PATH_TYPES = ['Exact', 'ImplementationSpecific', 'Prefix']

function validate(ingress: Ingress): ErrorList {
  const spec = ingress.spec ?? {}
  const rules = spec.rules ?? []
  const errors: ErrorList = []
  if (rules.length === 0 && !spec.defaultBackend) errors.push(invalid(SPEC, spec.rules ?? null, 'either `defaultBackend` or `rules` must be specified'))
  if (spec.defaultBackend) errors.push(...validateBackend(spec.defaultBackend, SPEC.child('defaultBackend')))
  for (const [i, rule] of rules.entries()) errors.push(...validateRule(rule, SPEC.child('rules').index(i)))
  for (const [i, tls] of (spec.tls ?? []).entries()) {
    const path = SPEC.child('tls').index(i)
    for (const [k, host] of (tls.hosts ?? []).entries()) {
      const at = path.child('hosts').index(k)
      for (const text of host.includes('*') ? isWildcardDNS1123Subdomain(host) : isDNS1123Subdomain(host)) errors.push(invalid(at, host, text))
    }
    if (tls.secretName) for (const text of isDNS1123Subdomain(tls.secretName)) errors.push(invalid(path.child('secretName'), tls.secretName, text))
  }
  if (spec.ingressClassName !== undefined) {
    for (const text of isDNS1123Subdomain(spec.ingressClassName)) errors.push(invalid(SPEC.child('ingressClassName'), spec.ingressClassName, text))
  }
  return errors
}

function validateRule(rule: networkingv1.IngressRule, path: FieldPath): ErrorList {
  const host = rule.host ?? ''
  const errors: ErrorList = []
  if (host !== '') {
    const at = path.child('host')
    if (parseIP(host)) errors.push(invalid(at, host, 'must be a DNS name, not an IP address'))
    for (const text of host.includes('*') ? isWildcardDNS1123Subdomain(host) : isDNS1123Subdomain(host)) errors.push(invalid(at, host, text))
  }
  if (!rule.http) return errors
  const paths = path.child('http', 'paths')
  if (!rule.http.paths?.length) errors.push(required(paths))
  for (const [i, p] of (rule.http.paths ?? []).entries()) errors.push(...validatePath(p, paths.index(i)))
  return errors
}

const FORBIDDEN_PARTS = ['//', '/./', '/../', '%2f', '%2F']
const FORBIDDEN_ENDS = ['/..', '/.']

function validatePath(p: networkingv1.HTTPIngressPath, path: FieldPath): ErrorList {
  if (!p.pathType) return [required(path.child('pathType'), 'pathType must be specified')]
  const text = p.path ?? ''
  const at = path.child('path')
  const errors: ErrorList = []
  if (p.pathType === 'Exact' || p.pathType === 'Prefix') {
    if (!text.startsWith('/')) errors.push(invalid(at, text, 'must be an absolute path'))
    if (text.length > 0) {
      for (const part of FORBIDDEN_PARTS) if (text.includes(part)) errors.push(invalid(at, text, `must not contain '${part}'`))
      for (const end of FORBIDDEN_ENDS) if (text.endsWith(end)) errors.push(invalid(at, text, `cannot end with '${end}'`))
    }
  } else if (p.pathType === 'ImplementationSpecific') {
    if (text.length > 0 && !text.startsWith('/')) errors.push(invalid(at, text, 'must be an absolute path'))
  } else errors.push(notSupported(path.child('pathType'), p.pathType, PATH_TYPES))
  return [...errors, ...validateBackend(p.backend ?? {}, path.child('backend'))]
}

function validateBackend(backend: networkingv1.IngressBackend, path: FieldPath): ErrorList {
  const { resource, service } = backend
  if (resource && service) return [invalid(path, '', 'cannot set both resource and service backends')]
  if (resource) {
    const at = path.child('resource')
    const errors: ErrorList = []
    if (typeof resource.apiGroup === 'string')
      for (const text of isDNS1123Subdomain(resource.apiGroup)) errors.push(invalid(at.child('apiGroup'), resource.apiGroup, text))
    for (const field of ['kind', 'name'] as const) {
      const value = resource[field] ?? ''
      if (value === '') errors.push(required(at.child(field)))
      else for (const text of isPathSegmentName(value)) errors.push(invalid(at.child(field), value, text))
    }
    return errors
  }
  if (!service) return [invalid(path, '', 'resource or service backend is required')]
  const errors: ErrorList = []
  const name = path.child('service', 'name')
  if (!service.name) errors.push(required(name))
  else for (const text of isDNS1123Label(service.name)) errors.push(invalid(name, service.name, text))
  const port = path.child('service', 'port')
  const { name: portName = '', number = 0 } = service.port ?? {}
  if (portName !== '' && number !== 0) errors.push(invalid(path, '', 'cannot set both port name & port number'))
  else if (portName !== '') for (const text of isPortName(portName)) errors.push(invalid(port.child('name'), portName, text))
  else if (number !== 0) for (const text of isPortNumber(number)) errors.push(invalid(port.child('number'), number, text))
  else errors.push(required(path, 'port name or number is required'))
  return errors
}

export const ingressKind: KindRegistration<Ingress> = {
  group: 'networking.k8s.io',
  resource: 'ingresses',
  storage: { group: 'networking.k8s.io', version: 'v1', kind: 'Ingress' },
  strategy: {
    validate(ingress) {
      const own = ingress.metadata.annotations?.[CLASS]
      const errors: ErrorList = []
      if (own !== undefined && ingress.spec?.ingressClassName !== undefined && own !== ingress.spec.ingressClassName)
        errors.push(invalid(FieldPath.root('annotations').child(CLASS), own, 'must match `ingressClassName` when both are specified'))
      return [...validate(ingress), ...errors]
    },
    validateUpdate: (ingress) => validate(ingress),
    warningsOnCreate: ingressWarnings,
  },
  status: {
    prepareForUpdate(ingress, old) {
      ingress.spec = deepCopy(old.spec)
    },
    validateUpdate: (ingress, old) => validateLoadBalancerStatus(ingress.status?.loadBalancer, old.status?.loadBalancer, false),
  },
  columns: ingressColumns,
}

function ingressWarnings(ingress: Ingress): string[] {
  return ingress.metadata.annotations?.[CLASS] !== undefined && ingress.spec?.ingressClassName === undefined
    ? [`annotation ${JSON.stringify(CLASS)} is deprecated, please use 'spec.ingressClassName' instead`]
    : []
}
