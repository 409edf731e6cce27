import type { Container, PodSpec } from '../../../../api/core/v1/types.generated.ts'
import {
  duplicate,
  type ErrorList,
  type FieldPath,
  forbidden,
  invalid,
  notFoundField,
  notSupported,
  required,
  tooLong,
} from '../../../../apimachinery/field.ts'
import type { ObjectMeta } from '../../../../apimachinery/meta/v1/types.generated.ts'
import {
  inclusiveRange,
  isDNS1123Label,
  isDNS1123Subdomain,
  isQualifiedName,
  longerThan,
  sortedKeys,
  validateLabels,
} from '../../../../apimachinery/validation/index.ts'
import { internalForm } from '../../../internal-form.ts'
import { validateAffinity, validateTopologySpread } from './affinity.ts'
import { type ContainerContext, validateContainers, validateEphemeralContainers, validateInitContainers } from './containers.ts'
import { validateDNSConfig, validateDNSPolicy, validateHostAliases } from './dns.ts'
import type { PodValidationOptions } from './options.ts'
import { validatePodLevelResources, validateResourceName, validateResourceQuantity } from './resources.ts'
import { validateHostUsers, validatePodSecurityContext } from './security-context.ts'
import { validateTolerations } from './tolerations.ts'
import type { Volumes } from './volume-mounts.ts'
import { validateVolumes } from './volumes.ts'
import { validateHostProcessPod, validateOS } from './windows.ts'

const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror'
const RESTART_POLICIES = ['Always', 'OnFailure', 'Never']
const PREEMPTION_POLICIES = ['PreemptLowerPriority', 'Never']
const MAX_INT32 = 2147483647

/** The rules for a Pod's spec, also where it is part of a template. */
export function validatePodSpec(given: PodSpec, meta: ObjectMeta | undefined, path: FieldPath, options: PodValidationOptions): ErrorList {
  const spec: PodSpec = given.containers ? given : { ...given, containers: [] }
  const errs: ErrorList = []
  const volumes = validateVolumes(spec.volumes, path.child('volumes'), options)
  errs.push(...volumes.errs)
  const claimNames = new Set((spec.resourceClaims ?? []).map((c) => c.name))
  errs.push(...validateResourceClaims(spec, meta, path.child('resourceClaims')))
  const context: ContainerContext = { spec, volumes: volumes.valid, claimNames, options }
  errs.push(...validateContainers(context, path.child('containers')))
  errs.push(...validateInitContainers(context, path.child('initContainers')))
  errs.push(...validateEphemeralContainers(context, path.child('ephemeralContainers')))
  errs.push(...validateFileKeyVolumes(spec, volumes.valid, path))
  errs.push(...validatePodLevelResources(spec, claimNames, path.child('resources')))
  errs.push(...validateHostNetworkPorts(spec, path, options))
  if (!spec.restartPolicy) errs.push(required(path.child('restartPolicy')))
  else if (!RESTART_POLICIES.includes(spec.restartPolicy)) errs.push(notSupported(path.child('restartPolicy'), spec.restartPolicy, RESTART_POLICIES))
  errs.push(...validateDNSPolicy(spec.dnsPolicy, path.child('dnsPolicy')))
  errs.push(...validateLabels(spec.nodeSelector, path.child('nodeSelector')))
  errs.push(...validatePodSecurityContext(spec, path.child('securityContext'), options))
  errs.push(...validateAffinity(spec.affinity, path.child('affinity'), options))
  errs.push(...validateDNSConfig(spec.dnsConfig, spec.dnsPolicy, path.child('dnsConfig')))
  errs.push(...validateGates(spec, path))
  errs.push(...validateTopologySpread(spec.topologySpreadConstraints, path.child('topologySpreadConstraints'), options))
  errs.push(...validateHostProcessPod(spec, path))
  errs.push(...validateHostUsers(spec, path, options))
  errs.push(...validateNames(spec, path))
  errs.push(...validateTolerations(spec.tolerations, path.child('tolerations'), options))
  errs.push(...validateHostAliases(spec.hostAliases, path.child('hostAliases')))
  if (spec.priorityClassName)
    for (const m of isDNS1123Subdomain(spec.priorityClassName)) errs.push(invalid(path.child('priorityClassName'), spec.priorityClassName, m))
  if (spec.runtimeClassName !== undefined)
    for (const m of isDNS1123Subdomain(spec.runtimeClassName)) errs.push(invalid(path.child('runtimeClassName'), spec.runtimeClassName, m))
  if (spec.preemptionPolicy !== undefined && !PREEMPTION_POLICIES.includes(spec.preemptionPolicy)) {
    errs.push(notSupported(path.child('preemptionPolicy'), spec.preemptionPolicy, PREEMPTION_POLICIES))
  }
  for (const name of sortedKeys(spec.overhead)) {
    const at = path.child('overhead').key(name)
    errs.push(...validateResourceName(name, at), ...validateResourceQuantity(name, spec.overhead?.[name] as string, at))
  }
  errs.push(...validateOS(spec, path))
  return errs
}

function validateResourceClaims(spec: PodSpec, meta: ObjectMeta | undefined, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  if (spec.resourceClaims?.length && Object.hasOwn(meta?.annotations ?? {}, MIRROR_ANNOTATION)) {
    errs.push({ type: 'FieldValueForbidden', field: '[]', body: 'Forbidden: static pods do not support resource claims' })
  }
  const names = new Set<string>()
  spec.resourceClaims?.forEach((claim, i) => {
    const at = path.index(i)
    if (!claim.name) errs.push(required(at.child('name')))
    else if (names.has(claim.name)) errs.push(duplicate(at.child('name'), claim.name))
    else {
      for (const m of isDNS1123Label(claim.name)) errs.push(invalid(at.child('name'), claim.name, m))
      names.add(claim.name)
    }
    const { resourceClaimName: own, resourceClaimTemplateName: template } = claim
    const shown = internalForm('PodResourceClaim', claim)
    if (own !== undefined && template !== undefined)
      errs.push(invalid(at, shown, 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified'))
    if (own === undefined && template === undefined) errs.push(invalid(at, shown, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'))
    if (own !== undefined) for (const m of isDNS1123Subdomain(own)) errs.push(invalid(at.child('resourceClaimName'), own, m))
    if (template !== undefined) for (const m of isDNS1123Subdomain(template)) errs.push(invalid(at.child('resourceClaimTemplateName'), template, m))
  })
  return errs
}

/** Variables read from files (KEP-3721) need an emptyDir of the Pod. */
function validateFileKeyVolumes(spec: PodSpec, volumes: Volumes, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const visit = (containers: readonly Pick<Container, 'env'>[] | undefined, at: FieldPath) =>
    containers?.forEach((container, i) => {
      container.env?.forEach((variable, j) => {
        const name = variable.valueFrom?.fileKeyRef?.volumeName
        if (!name) return
        const own = at.index(i).child('env').index(j).child('valueFrom', 'fileKeyRef', 'volumeName')
        const volume = volumes.get(name)
        if (!volume) errs.push(notFoundField(own, name))
        else if (!volume.emptyDir) errs.push(invalid(own, name, 'referenced volume must be of type emptyDir'))
      })
    })
  visit(spec.containers, path.child('containers'))
  visit(spec.initContainers, path.child('initContainers'))
  return errs
}

function validateHostNetworkPorts(spec: PodSpec, path: FieldPath, options: PodValidationOptions): ErrorList {
  if (!spec.hostNetwork) return []
  const errs: ErrorList = []
  const visit = (containers: readonly Container[] | undefined, at: FieldPath) =>
    containers?.forEach((container, i) => {
      container.ports?.forEach((port, j) => {
        const hostPort = port.hostPort ?? 0
        if (hostPort === port.containerPort || (hostPort === 0 && !options.isPod)) return
        errs.push(invalid(at.index(i).child('ports').index(j).child('hostPort'), hostPort, 'must match `containerPort` when `hostNetwork` is true'))
      })
    })
  visit(spec.containers, path.child('containers'))
  visit(spec.initContainers, path.child('initContainers'))
  return errs
}

function validateGates(spec: PodSpec, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  spec.readinessGates?.forEach((gate, i) => {
    for (const m of isQualifiedName(gate.conditionType ?? ''))
      errs.push(invalid(path.child('readinessGates').index(i).child('conditionType'), gate.conditionType ?? '', m))
  })
  const names = new Set<string>()
  spec.schedulingGates?.forEach((gate, i) => {
    const at = path.child('schedulingGates').index(i)
    for (const m of isQualifiedName(gate.name ?? '')) errs.push(invalid(at, gate.name ?? '', m))
    if (names.has(gate.name)) errs.push(duplicate(at, gate.name))
    names.add(gate.name)
  })
  return errs
}

function validateNames(spec: PodSpec, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const check = (name: 'serviceAccountName' | 'nodeName' | 'hostname' | 'subdomain', rule: (v: string) => string[]) => {
    const value = spec[name]
    if (value) for (const m of rule(value)) errs.push(invalid(path.child(name), value, m))
  }
  check('serviceAccountName', isDNS1123Subdomain)
  check('nodeName', isDNS1123Subdomain)
  const deadline = spec.activeDeadlineSeconds
  if (deadline !== undefined && (deadline < 1 || deadline > MAX_INT32))
    errs.push(invalid(path.child('activeDeadlineSeconds'), deadline, inclusiveRange(1, MAX_INT32)))
  check('hostname', isDNS1123Label)
  check('subdomain', isDNS1123Label)
  const override = spec.hostnameOverride
  if (override !== undefined) {
    const at = path.child('hostnameOverride')
    if (longerThan(override, 64)) errs.push(tooLong(at, 64))
    for (const m of isDNS1123Subdomain(override)) errs.push(invalid(at, override, m))
    if (spec.setHostnameAsFQDN) errs.push(forbidden(at, 'may not be specified when setHostnameAsFQDN is true'))
    if (spec.hostNetwork) errs.push(forbidden(at, 'may not be specified when hostNetwork is true'))
  }
  return errs
}
