import type { Container, ContainerPort, EphemeralContainer, PodSpec } from '../../../../api/core/v1/types.generated.ts'
import {
  duplicate,
  type ErrorList,
  type FieldPath,
  forbidden,
  invalid,
  notFoundField,
  notSupported,
  required,
  tooMany,
} from '../../../../apimachinery/field.ts'
import { isDNS1123Label, isPortName, isPortNumber } from '../../../../apimachinery/validation/index.ts'
import { isSidecar } from '../../../../component-helpers/pod-conditions.ts'
import { validateEnv, validateEnvFrom } from './env.ts'
import type { PodValidationOptions } from './options.ts'
import { validateLifecycle, validateOnceProbe, validateReadinessProbe } from './probes.ts'
import { validateContainerResources, validateResizePolicy } from './resources.ts'
import { validateSecurityContext } from './security-context.ts'
import { type Volumes, validateVolumeDevices, validateVolumeMounts } from './volume-mounts.ts'
import { PULL_POLICIES } from './volumes.ts'

/** What containers are checked against. */
export interface ContainerContext {
  readonly spec: PodSpec
  readonly volumes: Volumes
  readonly claimNames: ReadonlySet<string>
  readonly options: PodValidationOptions
}

const PROTOCOLS = ['SCTP', 'TCP', 'UDP']
const MAX_RESTART_RULES = 20
const MAX_EXIT_CODES = 255

function validatePorts(ports: readonly ContainerPort[] | undefined, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const names = new Set<string>()
  ports?.forEach((port, i) => {
    const at = path.index(i)
    if (port.name) {
      const messages = isPortName(port.name)
      for (const m of messages) errs.push(invalid(at.child('name'), port.name, m))
      if (messages.length === 0) {
        if (names.has(port.name)) errs.push(duplicate(at.child('name'), port.name))
        names.add(port.name)
      }
    }
    if (!port.containerPort) errs.push(required(at.child('containerPort')))
    else for (const m of isPortNumber(port.containerPort)) errs.push(invalid(at.child('containerPort'), port.containerPort, m))
    if (port.hostPort) for (const m of isPortNumber(port.hostPort)) errs.push(invalid(at.child('hostPort'), port.hostPort, m))
    if (!port.protocol) errs.push(required(at.child('protocol')))
    else if (!PROTOCOLS.includes(port.protocol)) errs.push(notSupported(at.child('protocol'), port.protocol, PROTOCOLS))
  })
  return errs
}

function validateHostPortConflicts(containers: readonly Container[], path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const taken = new Set<string>()
  containers.forEach((container, i) => {
    container.ports?.forEach((port, j) => {
      if (!port.hostPort) return
      const key = `${port.protocol ?? ''}/${port.hostIP ?? ''}/${port.hostPort}`
      if (taken.has(key)) errs.push(duplicate(path.index(i).child('ports').index(j).child('hostPort'), key))
      taken.add(key)
    })
  })
  return errs
}

function validateCommon(container: Container | EphemeralContainer, context: ContainerContext, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  if (!container.name) errs.push(required(path.child('name')))
  else for (const m of isDNS1123Label(container.name)) errs.push(invalid(path.child('name'), container.name, m))
  if (!container.image) errs.push(required(path.child('image')))
  const termination = container.terminationMessagePolicy
  if (!termination) errs.push(required(path.child('terminationMessagePolicy')))
  else if (termination !== 'File' && termination !== 'FallbackToLogsOnError') {
    errs.push(notSupported(path.child('terminationMessagePolicy'), termination, ['File', 'FallbackToLogsOnError']))
  }
  errs.push(...validatePorts(container.ports, path.child('ports')))
  errs.push(...validateEnv(container.env, path.child('env')), ...validateEnvFrom(container.envFrom, path.child('envFrom')))
  errs.push(...validateVolumeMounts(container, context.volumes, path.child('volumeMounts')))
  errs.push(...validateVolumeDevices(container, context.volumes, path.child('volumeDevices')))
  const pull = container.imagePullPolicy
  if (!pull) errs.push(required(path.child('imagePullPolicy')))
  else if (!PULL_POLICIES.includes(pull)) errs.push(notSupported(path.child('imagePullPolicy'), pull, PULL_POLICIES))
  errs.push(...validateContainerResources(container.resources, context.claimNames, path.child('resources')))
  errs.push(...validateResizePolicy(container.resizePolicy, context.spec.restartPolicy, path.child('resizePolicy')))
  errs.push(...validateSecurityContext(container.securityContext, context.spec.hostUsers !== false, path.child('securityContext')))
  return errs
}

/** A container's own restart policy and rules (KEP-5307). */
function validateRestart(container: Container, context: ContainerContext, path: FieldPath, init: boolean): ErrorList {
  const errs: ErrorList = []
  const { restartPolicy: policy, restartPolicyRules: rules } = container
  const enabled = context.options.isFeatureEnabled('ContainerRestartRules')
  if (policy !== undefined) {
    if (!enabled && !init) return [forbidden(path.child('restartPolicy'), 'may not be set for non-init containers')]
    const supported = enabled ? ['Always', 'Never', 'OnFailure'] : ['Always']
    if (!supported.includes(policy)) errs.push(notSupported(path.child('restartPolicy'), policy, supported))
  }
  if (!enabled || !rules?.length) return errs
  const at = path.child('restartPolicyRules')
  if (policy === undefined) errs.push(required(path.child('restartPolicy'), 'must specify restartPolicy when restart rules are used'))
  const all = context.options.isFeatureEnabled('RestartAllContainersOnContainerExits')
  if (!all && init && policy === 'Always') errs.push(forbidden(at, 'restartPolicyRules are not allowed for init containers with restart policy Always'))
  if (rules.length > MAX_RESTART_RULES) errs.push(tooMany(at, rules.length, MAX_RESTART_RULES))
  const actions = all ? ['Restart', 'RestartAllContainers'] : ['Restart']
  rules.forEach((rule, i) => {
    if (!rule.action || !actions.includes(rule.action)) errs.push(notSupported(at.index(i).child('action'), rule.action ?? '', actions))
    const codes = at.index(i).child('exitCodes')
    if (!rule.exitCodes) {
      errs.push(required(codes, 'must be specified'))
      return
    }
    const { operator = '', values = [] } = rule.exitCodes
    if (operator !== 'In' && operator !== 'NotIn') errs.push(notSupported(codes.child('operator'), operator, ['In', 'NotIn']))
    if (values.length > MAX_EXIT_CODES) errs.push(tooMany(codes.child('values'), values.length, MAX_EXIT_CODES))
  })
  return errs
}

function validateLongLived(container: Container, context: ContainerContext, path: FieldPath): ErrorList {
  const { spec } = context
  return [
    ...validateLifecycle(container.lifecycle, spec.terminationGracePeriodSeconds, spec.os?.name, path.child('lifecycle')),
    ...validateOnceProbe(container.livenessProbe, path.child('livenessProbe')),
    ...validateReadinessProbe(container.readinessProbe, path.child('readinessProbe')),
    ...validateOnceProbe(container.startupProbe, path.child('startupProbe')),
  ]
}

export function validateContainers(context: ContainerContext, path: FieldPath): ErrorList {
  const containers = context.spec.containers ?? []
  if (containers.length === 0) return [required(path)]
  const errs: ErrorList = []
  const names = new Set<string>()
  containers.forEach((container, i) => {
    const at = path.index(i)
    errs.push(...validateCommon(container, context, at))
    if (names.has(container.name)) errs.push(duplicate(at.child('name'), container.name))
    names.add(container.name)
    errs.push(...validateLongLived(container, context, at))
    errs.push(...validateRestart(container, context, at, false))
  })
  return [...errs, ...validateHostPortConflicts(containers, path)]
}

const LONG_LIVED_ONLY = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const

export function validateInitContainers(context: ContainerContext, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const names = new Set((context.spec.containers ?? []).map((c) => c.name))
  context.spec.initContainers?.forEach((container, i) => {
    const at = path.index(i)
    errs.push(...validateCommon(container, context, at))
    if (names.has(container.name)) errs.push(duplicate(at.child('name'), container.name))
    else if (container.name) names.add(container.name)
    errs.push(...validateHostPortConflicts([container], path))
    if (isSidecar(container)) errs.push(...validateLongLived(container, context, at))
    else {
      for (const name of LONG_LIVED_ONLY)
        if (container[name]) errs.push(forbidden(at.child(name), 'may not be set for init containers without restartPolicy=Always'))
      container.resizePolicy?.forEach((policy, j) => {
        if (policy.restartPolicy !== 'RestartContainer') return
        errs.push(
          invalid(
            at.child('resizePolicy').index(j).child('restartPolicy'),
            policy.restartPolicy,
            "must not be set to 'RestartContainer' for non-sidecar initContainers",
          ),
        )
      })
    }
    errs.push(...validateRestart(container, context, at, true))
  })
  return errs
}

const NOT_EPHEMERAL = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
] as const
const EPHEMERAL_TEXT = 'cannot be set for an Ephemeral Container'

const isSet = (value: unknown): boolean => value !== undefined && value !== null && !(typeof value === 'object' && Object.keys(value).length === 0)

export function validateEphemeralContainers(context: ContainerContext, path: FieldPath): ErrorList {
  const { spec } = context
  const errs: ErrorList = []
  const others = new Set([...(spec.containers ?? []), ...(spec.initContainers ?? [])].map((c) => c.name))
  const names = new Set(others)
  spec.ephemeralContainers?.forEach((container, i) => {
    const at = path.index(i)
    errs.push(...validateCommon(container, context, at))
    if (names.has(container.name)) errs.push(duplicate(at.child('name'), container.name))
    else if (container.name) names.add(container.name)
    const target = container.targetContainerName
    if (target && !others.has(target)) errs.push(notFoundField(at.child('targetContainerName'), target))
    for (const name of NOT_EPHEMERAL) if (isSet(container[name])) errs.push(forbidden(at.child(name), EPHEMERAL_TEXT))
    container.volumeMounts?.forEach((mount, j) => {
      if (mount.subPath) errs.push(forbidden(at.child('volumeMounts').index(j).child('subPath'), EPHEMERAL_TEXT))
      if (mount.subPathExpr) errs.push(forbidden(at.child('volumeMounts').index(j).child('subPathExpr'), EPHEMERAL_TEXT))
    })
  })
  return errs
}

/** Rules that hold for Pods but were never put on templates. */
export function validateImagesOfPod(containers: readonly (Container | EphemeralContainer)[] | undefined, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  containers?.forEach((container, i) => {
    const image = container.image ?? ''
    if (image !== image.trim()) errs.push(invalid(path.index(i).child('image'), image, 'must not have leading or trailing whitespace'))
  })
  return errs
}
