import type {
  ConfigMapKeySelector,
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  FileKeySelector,
  ObjectFieldSelector,
  ResourceFieldSelector,
  SecretKeySelector,
} from '../../../../api/core/v1/types.generated.ts'
import { type ErrorList, type FieldPath, invalid, notSupported, required } from '../../../../apimachinery/field.ts'
import { isConfigMapKey, isDNS1123Subdomain, isEnvVarName, isQualifiedName } from '../../../../apimachinery/validation/index.ts'
import { parseAmount } from '../../../../component-helpers/amounts.ts'
import { validatePathNoBacksteps } from './paths.ts'

const ENV_FIELDS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]
export const VOLUME_FIELDS = ['metadata.annotations', 'metadata.labels', 'metadata.name', 'metadata.namespace', 'metadata.uid']

const KNOWN_FIELDS = new Set([...ENV_FIELDS, ...VOLUME_FIELDS, 'spec.restartPolicy', 'spec.schedulerName', 'status.phase'])

const RESOURCES = ['limits.cpu', 'limits.ephemeral-storage', 'limits.memory', 'requests.cpu', 'requests.ephemeral-storage', 'requests.memory']
const CPU_DIVISORS = new Set(['1m', '1'])
const BYTE_DIVISORS = new Set(['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'])
const BYTE_TEXT = "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the"

/** `metadata.labels['key']` into its parts; undefined when there is no subscript. */
export function splitSubscript(fieldPath: string): { path: string; key: string } | undefined {
  if (!fieldPath.endsWith("']")) return undefined
  const at = fieldPath.indexOf("['")
  return at > 0 ? { path: fieldPath.slice(0, at), key: fieldPath.slice(at + 2, -2) } : undefined
}

function convertFieldLabel(ref: ObjectFieldSelector): { path: string } | { error: string } {
  if (ref.apiVersion !== 'v1') return { error: `unsupported pod version: ${ref.apiVersion}` }
  const subscript = splitSubscript(ref.fieldPath)
  if (subscript) {
    return subscript.path === 'metadata.annotations' || subscript.path === 'metadata.labels'
      ? { path: ref.fieldPath }
      : { error: `field label does not support subscript: ${ref.fieldPath}` }
  }
  if (KNOWN_FIELDS.has(ref.fieldPath)) return { path: ref.fieldPath }
  return ref.fieldPath === 'spec.host' ? { path: 'spec.nodeName' } : { error: `field label not supported: ${ref.fieldPath}` }
}

/** A reference to a field of the Pod itself. `supported` are those the place allows. */
export function validateObjectFieldSelector(ref: ObjectFieldSelector, supported: readonly string[], path: FieldPath): ErrorList {
  if (!ref.apiVersion) return [required(path.child('apiVersion'))]
  if (!ref.fieldPath) return [required(path.child('fieldPath'))]
  const converted = convertFieldLabel(ref)
  if ('error' in converted) return [invalid(path.child('fieldPath'), ref.fieldPath, `error converting fieldPath: ${converted.error}`)]
  const subscript = splitSubscript(converted.path)
  if (subscript) {
    const key = subscript.path === 'metadata.annotations' ? subscript.key.toLowerCase() : subscript.key
    return isQualifiedName(key).map((m) => invalid(path, subscript.key, m))
  }
  return supported.includes(converted.path) ? [] : [notSupported(path.child('fieldPath'), converted.path, supported)]
}

const isHugePagesField = (resource: string): boolean => resource.startsWith('requests.hugepages-') || resource.startsWith('limits.hugepages-')

export function validateResourceFieldSelector(ref: ResourceFieldSelector, path: FieldPath, volume: boolean): ErrorList {
  const errs: ErrorList = []
  if (volume && !ref.containerName) errs.push(required(path.child('containerName')))
  else if (!ref.resource) errs.push(required(path.child('resource')))
  else if (!RESOURCES.includes(ref.resource) && !isHugePagesField(ref.resource)) errs.push(notSupported(path.child('resource'), ref.resource, RESOURCES))
  const amount = parseAmount(ref.divisor)
  if (amount.nano === 0n) return errs
  const divisor = amount.toString()
  const refuse = (text: string) => errs.push(invalid(path.child('divisor'), ref.resource, text))
  if (ref.resource.endsWith('.cpu')) {
    if (!CPU_DIVISORS.has(divisor)) refuse("only divisor's values 1m and 1 are supported with the cpu resource")
  } else if (ref.resource.endsWith('.memory')) {
    if (!BYTE_DIVISORS.has(divisor)) refuse(`${BYTE_TEXT} memory resource`)
  } else if (ref.resource.endsWith('.ephemeral-storage')) {
    if (!BYTE_DIVISORS.has(divisor)) refuse(`${BYTE_TEXT} local ephemeral storage resource`)
  } else if (isHugePagesField(ref.resource) && !BYTE_DIVISORS.has(divisor)) refuse(`${BYTE_TEXT} hugepages resource`)
  return errs
}

function validateKeySelector(ref: ConfigMapKeySelector | SecretKeySelector, path: FieldPath): ErrorList {
  const errs = isDNS1123Subdomain(ref.name ?? '').map((m) => invalid(path.child('name'), ref.name ?? '', m))
  if (!ref.key) errs.push(required(path.child('key')))
  else for (const m of isConfigMapKey(ref.key)) errs.push(invalid(path.child('key'), ref.key, m))
  return errs
}

function validateFileKeySelector(ref: FileKeySelector, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  if (!ref.key) errs.push(required(path.child('key')))
  else for (const m of isEnvVarName(ref.key)) errs.push(invalid(path.child('key'), ref.key, m))
  if (!ref.volumeName) errs.push(required(path.child('volumeName')))
  if (!ref.path) errs.push(required(path.child('path')))
  else errs.push(...validatePathNoBacksteps(ref.path, path.child('path')))
  return errs
}

function validateValueFrom(value: string, source: EnvVarSource, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  let sources = 0
  if (source.fieldRef) {
    sources++
    errs.push(...validateObjectFieldSelector(source.fieldRef, ENV_FIELDS, path.child('fieldRef')))
  }
  if (source.resourceFieldRef) {
    sources++
    errs.push(...validateResourceFieldSelector(source.resourceFieldRef, path.child('resourceFieldRef'), false))
  }
  if (source.configMapKeyRef) {
    sources++
    errs.push(...validateKeySelector(source.configMapKeyRef, path.child('configMapKeyRef')))
  }
  if (source.secretKeyRef) {
    sources++
    errs.push(...validateKeySelector(source.secretKeyRef, path.child('secretKeyRef')))
  }
  if (source.fileKeyRef) {
    sources++
    errs.push(...validateFileKeySelector(source.fileKeyRef, path.child('fileKeyRef')))
  }
  if (sources === 0) errs.push(invalid(path, '', 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`'))
  else if (value !== '') errs.push(invalid(path, '', 'may not be specified when `value` is not empty'))
  else if (sources > 1) errs.push(invalid(path, '', 'may not have more than one field specified at a time'))
  return errs
}

export function validateEnv(env: readonly EnvVar[] | undefined, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  env?.forEach((variable, i) => {
    const at = path.index(i)
    if (!variable.name) errs.push(required(at.child('name')))
    else for (const m of isEnvVarName(variable.name)) errs.push(invalid(at.child('name'), variable.name, m))
    if (variable.valueFrom) errs.push(...validateValueFrom(variable.value ?? '', variable.valueFrom, at.child('valueFrom')))
  })
  return errs
}

export function validateEnvFrom(sources: readonly EnvFromSource[] | undefined, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const named = (name: string | undefined, at: FieldPath) => {
    if (!name) errs.push(required(at.child('name')))
    else for (const m of isDNS1123Subdomain(name)) errs.push(invalid(at.child('name'), name, m))
  }
  sources?.forEach((source, i) => {
    const at = path.index(i)
    if (source.prefix) for (const m of isEnvVarName(source.prefix)) errs.push(invalid(at.child('prefix'), source.prefix, m))
    if (source.configMapRef) named(source.configMapRef.name, at.child('configMapRef'))
    if (source.secretRef) named(source.secretRef.name, at.child('secretRef'))
    if (!source.configMapRef && !source.secretRef) errs.push(invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`'))
    else if (source.configMapRef && source.secretRef) errs.push(invalid(path, '', 'may not have more than one field specified at a time'))
  })
  return errs
}
