import type { corev1 } from '../../../api/index.ts'
import { duplicate, type ErrorList, FieldPath, forbidden, invalid, notSupported, required } from '../../../apimachinery/field.ts'
import { isLegacyCIDR, isLegacyIP, parseIP, validateNonSpecialIP } from '../../../apimachinery/validation/ip.ts'
import { validateLabels } from '../../../apimachinery/validation/labels.ts'
import { IMMUTABLE } from '../../../apimachinery/validation/messages.ts'
import { isDNS1123Label, isDNS1123Subdomain, isPortName, isPortNumber, isQualifiedName } from '../../../apimachinery/validation/names.ts'
import { deepEqual } from '../../../base/index.ts'
import { validateClusterIPChange, validateClusterIPFields, validateFamilyChange } from './cluster-ip-rules.ts'
import { isExternallyAccessible, isHeadless, needsClusterIP, needsHealthCheckPort } from './needs.ts'

type Service = corev1.Service

const SPEC = FieldPath.root('spec')
const PORTS = SPEC.child('ports')
const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const AFFINITIES = ['ClientIP', 'None']
const PROTOCOLS = ['SCTP', 'TCP', 'UDP']
const POLICIES = ['Cluster', 'Local']
const DISTRIBUTIONS = ['PreferClose', 'PreferSameZone', 'PreferSameNode']
const TOPOLOGY_MODE = 'service.kubernetes.io/topology-mode'
const TOPOLOGY_HINTS = 'service.kubernetes.io/topology-aware-hints'
const SOURCE_RANGES = 'service.beta.kubernetes.io/load-balancer-source-ranges'
const ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"

export function validateService(service: Service, old?: Service): ErrorList {
  const { spec } = service
  const errors: ErrorList = [...validateTopology(service)]
  const headless = isHeadless(service)
  const ports = spec.ports ?? []
  if (ports.length === 0 && !headless && spec.type !== 'ExternalName') errors.push(required(PORTS))
  errors.push(...validateType(service, headless))
  const names = new Set<string>()
  for (const [i, port] of ports.entries()) errors.push(...validatePort(port, ports.length > 1, names, PORTS.index(i)))
  errors.push(...validateLabels(spec.selector, SPEC.child('selector')), ...validateAffinity(service))
  errors.push(...validateClusterIPFields(service, old))
  for (const [i, ip] of (spec.externalIPs ?? []).entries()) {
    const path = SPEC.child('externalIPs').index(i)
    const wrong = isLegacyIP(ip, old?.spec.externalIPs)
    if (wrong.length) errors.push(...wrong.map((text) => invalid(path, ip, text)))
    else errors.push(...validateNonSpecialIP(ip, path))
  }
  if (!spec.type) errors.push(required(SPEC.child('type')))
  else if (!TYPES.includes(spec.type)) errors.push(notSupported(SPEC.child('type'), spec.type, TYPES))
  errors.push(...validatePortNumbers(service), ...validateLoadBalancer(service, old))
  errors.push(...validateExternalTraffic(service), ...validateInternalTraffic(service))
  if (spec.trafficDistribution !== undefined && !DISTRIBUTIONS.includes(spec.trafficDistribution))
    errors.push(notSupported(SPEC.child('trafficDistribution'), spec.trafficDistribution, DISTRIBUTIONS))
  return errors
}

function validateTopology({ metadata }: Service): ErrorList {
  const [mode, hints] = [metadata.annotations?.[TOPOLOGY_MODE], metadata.annotations?.[TOPOLOGY_HINTS]]
  if (mode === undefined || hints === undefined || mode === hints) return []
  const path = FieldPath.root('metadata', 'annotations').key(TOPOLOGY_MODE)
  return [invalid(path, mode, `must match annotations[${TOPOLOGY_HINTS}] when both are specified`)]
}

function validateType({ spec }: Service, headless: boolean): ErrorList {
  if ((spec.type === 'LoadBalancer' || spec.type === 'NodePort') && headless)
    return [invalid(SPEC.child('clusterIPs').index(0), 'None', `may not be set to 'None' for ${spec.type} services`)]
  if (spec.type !== 'ExternalName') return []
  const none = (field: string, isSet: boolean) => (isSet ? [forbidden(SPEC.child(field), 'may not be set for ExternalName services')] : [])
  const errors = [
    ...none('clusterIPs', !!spec.clusterIPs?.length),
    ...none('ipFamilies', !!spec.ipFamilies?.length),
    ...none('ipFamilyPolicy', spec.ipFamilyPolicy !== undefined),
  ]
  const path = SPEC.child('externalName')
  const name = (spec.externalName ?? '').replace(/\.$/, '')
  if (name === '') errors.push(required(path))
  else errors.push(...isDNS1123Subdomain(name).map((text) => invalid(path, name, text)))
  return errors
}

function validatePort(port: corev1.ServicePort, needsName: boolean, names: Set<string>, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  if (!port.name) {
    if (needsName) errors.push(required(path.child('name')))
  } else {
    for (const text of isDNS1123Label(port.name)) errors.push(invalid(path.child('name'), port.name, text))
    if (names.has(port.name)) errors.push(duplicate(path.child('name'), port.name))
    names.add(port.name)
  }
  for (const text of isPortNumber(port.port ?? 0)) errors.push(invalid(path.child('port'), port.port ?? 0, text))
  if (!port.protocol) errors.push(required(path.child('protocol')))
  else if (!PROTOCOLS.includes(port.protocol)) errors.push(notSupported(path.child('protocol'), port.protocol, PROTOCOLS))
  const target = port.targetPort ?? 0
  for (const text of typeof target === 'number' ? isPortNumber(target) : isPortName(target)) errors.push(invalid(path.child('targetPort'), target, text))
  if (port.appProtocol !== undefined)
    for (const text of isQualifiedName(port.appProtocol)) errors.push(invalid(path.child('appProtocol'), port.appProtocol, text))
  return errors
}

function validateAffinity({ spec }: Service): ErrorList {
  const path = SPEC.child('sessionAffinity')
  const errors: ErrorList = []
  if (!spec.sessionAffinity) errors.push(required(path))
  else if (!AFFINITIES.includes(spec.sessionAffinity)) errors.push(notSupported(path, spec.sessionAffinity, AFFINITIES))
  const config = SPEC.child('sessionAffinityConfig')
  if (spec.sessionAffinity === 'None') {
    if (spec.sessionAffinityConfig) errors.push(forbidden(config, 'must not be set when session affinity is None'))
  } else if (spec.sessionAffinity === 'ClientIP') {
    const seconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds
    if (seconds === undefined) errors.push(required(config, 'when session affinity type is ClientIP'))
    else if (seconds <= 0 || seconds > 86400)
      errors.push(invalid(config.child('clientIP', 'timeoutSeconds'), seconds, 'must be greater than 0 and less than 86400'))
  }
  return errors
}

function validatePortNumbers({ spec }: Service): ErrorList {
  const errors: ErrorList = []
  const ports = spec.ports ?? []
  if (spec.type === 'ClusterIP') {
    for (const [i, port] of ports.entries())
      if (port.nodePort) errors.push(forbidden(PORTS.index(i).child('nodePort'), "may not be used when `type` is 'ClusterIP'"))
  }
  const nodePorts = new Set<string>()
  for (const [i, port] of ports.entries()) {
    if (!port.nodePort) continue
    const key = `${port.protocol}/${port.nodePort}`
    if (nodePorts.has(key)) errors.push(duplicate(PORTS.index(i).child('nodePort'), port.nodePort))
    nodePorts.add(key)
  }
  const seen = new Set<string>()
  for (const [i, port] of ports.entries()) {
    const key = `${port.protocol}/${port.port}`
    if (seen.has(key))
      errors.push(duplicate(PORTS.index(i), { Name: '', Protocol: port.protocol, AppProtocol: null, Port: port.port, TargetPort: 0, NodePort: 0 }))
    seen.add(key)
  }
  return errors
}

function validateLoadBalancer(service: Service, old: Service | undefined): ErrorList {
  const { spec } = service
  const errors: ErrorList = []
  const balanced = spec.type === 'LoadBalancer'
  const ranges = spec.loadBalancerSourceRanges ?? []
  if (ranges.length) {
    const path = SPEC.child('LoadBalancerSourceRanges')
    if (!balanced) errors.push(forbidden(path, ONLY_LOAD_BALANCER))
    for (const [i, range] of ranges.entries()) {
      // Spaces around them were always let through.
      for (const text of isLegacyCIDR(range.trim(), old?.spec.loadBalancerSourceRanges)) errors.push(invalid(path.index(i), range, text))
    }
  } else {
    const text = service.metadata.annotations?.[SOURCE_RANGES]
    const path = FieldPath.root('metadata', 'annotations').key(SOURCE_RANGES)
    if (text !== undefined && !balanced) errors.push(forbidden(path, ONLY_LOAD_BALANCER))
    for (const range of text?.trim() ? text.trim().split(',') : [])
      for (const wrong of isLegacyCIDR(range.trim(), [range.trim()])) errors.push(invalid(path, text, wrong))
  }
  if (spec.allocateLoadBalancerNodePorts !== undefined && !balanced) errors.push(forbidden(SPEC.child('allocateLoadBalancerNodePorts'), ONLY_LOAD_BALANCER))
  if (spec.loadBalancerClass !== undefined) {
    const path = SPEC.child('loadBalancerClass')
    if (!balanced) errors.push(forbidden(path, ONLY_LOAD_BALANCER))
    else for (const text of isQualifiedName(spec.loadBalancerClass)) errors.push(invalid(path, spec.loadBalancerClass, text))
  }
  return errors
}

function validateExternalTraffic(service: Service): ErrorList {
  const { externalTrafficPolicy: policy = '', healthCheckNodePort: port = 0 } = service.spec
  const path = SPEC.child('externalTrafficPolicy')
  const errors: ErrorList = []
  if (!isExternallyAccessible(service)) {
    if (policy !== '') errors.push(invalid(path, policy, 'may only be set for externally-accessible services'))
  } else if (policy === '') errors.push(required(path))
  else if (!POLICIES.includes(policy)) errors.push(notSupported(path, policy, POLICIES))
  const health = SPEC.child('healthCheckNodePort')
  if (!needsHealthCheckPort(service)) {
    if (port !== 0) errors.push(invalid(health, port, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
  } else if (port === 0) errors.push(required(health))
  else for (const text of isPortNumber(port)) errors.push(invalid(health, port, text))
  return errors
}

function validateInternalTraffic(service: Service): ErrorList {
  const policy = service.spec.internalTrafficPolicy
  const path = SPEC.child('internalTrafficPolicy')
  if (policy === undefined) return needsClusterIP(service) ? [required(path)] : []
  return POLICIES.includes(policy) ? [] : [notSupported(path, policy, POLICIES)]
}

export function validateServiceUpdate(service: Service, old: Service): ErrorList {
  const errors = [...validateClusterIPChange(service, old), ...validateFamilyChange(service, old)]
  if (service.spec.type === 'LoadBalancer' && old.spec.type === 'LoadBalancer' && service.spec.loadBalancerClass !== old.spec.loadBalancerClass)
    errors.push(invalid(SPEC.child('loadBalancerClass'), service.spec.loadBalancerClass ?? null, 'may not change once set'))
  if (needsHealthCheckPort(service) && needsHealthCheckPort(old) && service.spec.healthCheckNodePort !== old.spec.healthCheckNodePort)
    errors.push(forbidden(SPEC.child('healthCheckNodePort'), IMMUTABLE))
  return [...errors, ...validateService(service, old)]
}

const MODES = ['Proxy', 'VIP']

export function validateServiceStatus(service: Service, old: Service): ErrorList {
  const errors = validateLoadBalancerStatus(service.status?.loadBalancer, old.status?.loadBalancer, true)
  if (service.spec.type !== 'LoadBalancer' && service.status?.loadBalancer?.ingress?.length && !deepEqual(service.status, old.status)) {
    errors.push(forbidden(FieldPath.root('status', 'loadBalancer', 'ingress'), "may only be used when `spec.type` is 'LoadBalancer'"))
  }
  return errors
}

/** @param withMode Services say how their addresses are reached, Ingresses do not. */
export function validateLoadBalancerStatus(
  status: { ingress?: readonly { ip?: string; hostname?: string; ipMode?: string }[] } | undefined,
  old: { ingress?: readonly { ip?: string }[] } | undefined,
  withMode: boolean,
): ErrorList {
  const errors: ErrorList = []
  const known = (old?.ingress ?? []).map((i) => i.ip ?? '')
  for (const [i, ingress] of (status?.ingress ?? []).entries()) {
    const path = FieldPath.root('status', 'loadBalancer', 'ingress').index(i)
    if (ingress.ip) for (const text of isLegacyIP(ingress.ip, known)) errors.push(invalid(path.child('ip'), ingress.ip, text))
    if (withMode) {
      if (ingress.ip && ingress.ipMode === undefined) errors.push(required(path.child('ipMode'), 'must be specified when `ip` is set'))
      else if (!ingress.ip && ingress.ipMode !== undefined) errors.push(forbidden(path.child('ipMode'), 'may not be specified when `ip` is not set'))
      else if (ingress.ipMode !== undefined && !MODES.includes(ingress.ipMode)) errors.push(notSupported(path.child('ipMode'), ingress.ipMode, MODES))
    }
    if (ingress.hostname) {
      for (const text of isDNS1123Subdomain(ingress.hostname)) errors.push(invalid(path.child('hostname'), ingress.hostname, text))
      if (parseIP(ingress.hostname)) errors.push(invalid(path.child('hostname'), ingress.hostname, 'must be a DNS name, not an IP address'))
    }
  }
  return errors
}
