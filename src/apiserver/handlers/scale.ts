import { newBadRequest, newConflict, newInternalError, newInvalid, StatusError } from '../../apimachinery/errors.ts'
import { FieldPath, invalid } from '../../apimachinery/field.ts'
import { formatLabelSelector, formatLabels } from '../../apimachinery/labels.ts'
import type { GroupVersionKind, KubeObject } from '../../apimachinery/object.ts'
import { applyJSONPatch, applyMergePatch, applyStrategicMergePatch } from '../../apimachinery/patch/index.ts'
import { deepCopy } from '../../base/deep-freeze.ts'
import type { Expected } from '../codec/codec.ts'
import { bodyTypeOf, requireBodyType, routerUnsupportedMediaType } from '../codec/content-type.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import type { ResourceStore } from '../registry/resource-store.ts'
import type { ScaleFields } from '../registry/strategy.ts'
import type { ApiResponse } from '../request/api-request.ts'
import { parseWriteRequest } from '../request/write-options.ts'
import { optionsObject } from './create.ts'
import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH } from './patch.ts'
import {
  AdmissionGate,
  checkTarget,
  ensureName,
  ensureNamespace,
  type HandlerEnvironment,
  managerOf,
  readBody,
  type Target,
  writeScope,
} from './request-scope.ts'

const SCALE: GroupVersionKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' }

interface Scale extends KubeObject {
  spec: { replicas?: number }
  status: { replicas: number; selector?: string }
}

type Fields = Record<string, unknown>

function read(object: unknown, path: string): unknown {
  let at = object
  for (const part of path.split('.')) {
    if (at === null || typeof at !== 'object') return undefined
    at = Object.hasOwn(at, part) ? (at as Fields)[part] : undefined
  }
  return at
}

function write(object: unknown, path: string, value: unknown): void {
  const parts = path.split('.')
  let at = object as Fields
  for (const part of parts.slice(0, -1)) {
    if (typeof at[part] !== 'object' || at[part] === null) at[part] = {}
    at = at[part] as Fields
  }
  at[parts[parts.length - 1] as string] = value
}

/** What autoscaling/v1 Scale shows of an object. */
export function scaleOf(object: KubeObject, fields: ScaleFields): Scale {
  const meta = object.metadata
  const replicas = (read(object, fields.specReplicasPath) as number | undefined) ?? 0
  const selector = fields.labelSelectorPath === undefined ? undefined : selectorText(read(object, fields.labelSelectorPath))
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name: meta.name as string,
      ...(meta.namespace ? { namespace: meta.namespace } : {}),
      uid: meta.uid as string,
      resourceVersion: meta.resourceVersion as string,
      creationTimestamp: meta.creationTimestamp as string,
    },
    spec: replicas === 0 ? {} : { replicas },
    status: { replicas: (read(object, fields.statusReplicasPath) as number | undefined) ?? 0, ...(selector ? { selector } : {}) },
  }
}

function selectorText(selector: unknown): string {
  if (typeof selector === 'string') return selector
  if (selector === null || typeof selector !== 'object') return ''
  if (Object.hasOwn(selector, 'matchLabels') || Object.hasOwn(selector, 'matchExpressions')) {
    const text = formatLabelSelector(selector as never)
    return text === '<none>' ? '' : text
  }
  const text = formatLabels(selector as Record<string, string>)
  return text === '<none>' ? '' : text
}

export async function handleGetScale(environment: HandlerEnvironment, target: Target, fields: ScaleFields): Promise<ApiResponse> {
  const { context, endpoint } = target
  checkTarget(endpoint, target.namespace, target.name)
  const form = environment.responder.negotiator.negotiate(context, endpoint.mediaTypes, true)
  const stored = await (endpoint.store as ResourceStore).get(target.namespace, target.name)
  if (endpoint.custom && read(stored.object, fields.specReplicasPath) === undefined) {
    throw newInternalError(`the spec replicas field ".${fields.specReplicasPath}" does not exist`)
  }
  return environment.responder.object(context, scaleEndpoint(endpoint), form, 200, scaleOf(stored.object, fields))
}

/** Applying to the Scale of a custom resource never worked: its fields cannot be told in terms of the resource. */
const CUSTOM_APPLY =
  'failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1'

/** PUT and PATCH of a Scale: only replicas reach the object. */
export async function handleWriteScale(environment: HandlerEnvironment, target: Target, fields: ScaleFields, patching: boolean): Promise<ApiResponse> {
  const { context, endpoint } = target
  const type = patching ? (bodyTypeOf(context.request.headers['content-type']) ?? '') : ''
  if (patching && ![JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH].includes(type)) throw routerUnsupportedMediaType()
  checkTarget(endpoint, target.namespace, target.name)
  const form = environment.responder.negotiator.negotiate(context, endpoint.mediaTypes, true)
  if (!patching) requireBodyType(context, endpoint)
  const given = context.request.object
  const bytes = await readBody(environment, context)
  const options = parseWriteRequest(context, patching ? 'PatchOptions' : 'UpdateOptions', type === APPLY_PATCH)
  const expected: Expected = { gvk: SCALE, schema: () => environment.scaleSchema(), custom: false }
  const warn = (text: string) => context.warn(text)
  const submitted = patching
    ? undefined
    : bytes
      ? environment.codec.decode(bytes, context.request.headers['content-type'], expected, options.fieldValidation, warn)
      : environment.codec.fromValue(given, expected, options.fieldValidation, warn)
  const patch = patching ? (bytes ? environment.codec.patch(bytes, type, expected, options.fieldValidation, warn).value : given) : undefined
  if (submitted) {
    ensureNamespace(endpoint, target.namespace, submitted)
    ensureName(target, submitted)
  }
  const gate = new AdmissionGate(environment, target, optionsObject(patching ? 'PatchOptions' : 'UpdateOptions', options, undefined), options.dryRun, SCALE)
  const store = endpoint.store as ResourceStore
  const manager = managerOf(context, options)
  let oldScale: KubeObject | undefined
  let newScale: KubeObject | undefined
  const written = await store.update(writeScope(environment, target, patching ? 'patch' : 'update', options.dryRun), target.namespace, target.name, {
    noCreate: true,
    transform: async (old) => {
      const current = old as KubeObject
      oldScale = scaleOf(current, fields)
      let scale = submitted ? deepCopy(submitted) : applyPatch(environment, type, oldScale, patch, expected, options.fieldValidation, warn)
      ensureName(target, scale)
      scale = (await gate.admit('UPDATE', scale, oldScale)) as KubeObject
      newScale = scale
      const replicas = (scale as Scale).spec?.replicas ?? 0
      if (replicas < 0 && !endpoint.custom) {
        throw newInvalid(SCALE, target.name, [invalid(FieldPath.root('spec', 'replicas'), replicas, 'must be greater than or equal to 0')])
      }
      if (scale.metadata.uid && scale.metadata.uid !== current.metadata.uid) {
        throw newConflict(
          endpoint.gr,
          target.name,
          `Precondition failed: UID in precondition: ${scale.metadata.uid}, UID in object meta: ${current.metadata.uid}`,
        )
      }
      if (type === APPLY_PATCH) {
        if (endpoint.custom) throw new StatusError({ code: 500, reason: '', message: CUSTOM_APPLY })
        const applied = partialWith(endpoint, current, fields, (patch as Scale).spec?.replicas)
        const merged = environment.managedFields.apply(endpoint, endpoint.fromStorage(current), applied, manager, options.force === true, 'scale')
        return endpoint.toStorage(merged)
      }
      const object = deepCopy(current)
      write(object, fields.specReplicasPath, replicas)
      object.metadata.resourceVersion = (scale.metadata.resourceVersion || current.metadata.resourceVersion) as string
      return environment.managedFields.update(endpoint, current, object, manager, 'scale')
    },
    validateUpdate: () => gate.validate('UPDATE', newScale, oldScale),
  })
  return environment.responder.object(context, scaleEndpoint(endpoint), form, 200, scaleOf(written.object, fields))
}

function applyPatch(
  environment: HandlerEnvironment,
  type: string,
  scale: KubeObject,
  patch: unknown,
  expected: Expected,
  validation: 'Ignore' | 'Warn' | 'Strict',
  warn: (text: string) => void,
): KubeObject {
  if (type === APPLY_PATCH) {
    const applied = (patch ?? {}) as Scale
    if (applied.kind !== 'Scale' || applied.apiVersion !== 'autoscaling/v1') {
      throw newBadRequest(`invalid object type: ${applied.apiVersion ?? '/'}, Kind=${applied.kind ?? ''}`)
    }
    const replicas = applied.spec?.replicas
    return { ...deepCopy(scale), ...(replicas === undefined ? {} : { spec: { replicas } }) } as KubeObject
  }
  const patched =
    type === JSON_PATCH
      ? applyJSONPatch(scale, patch)
      : type === MERGE_PATCH
        ? applyMergePatch(scale, patch)
        : applyStrategicMergePatch(scale, patch, environment.scaleSchema())
  return environment.codec.fromPatched(
    deepCopy(patched),
    type === STRATEGIC_PATCH ? { kind: 'strategic', patch } : { kind: 'json' },
    expected,
    validation,
    warn,
  )
}

/** What an applied Scale says, as a part of the object it scales. */
function partialWith(endpoint: Endpoint, object: KubeObject, fields: ScaleFields, replicas: number | undefined): KubeObject {
  const { info } = endpoint
  const { name, namespace } = object.metadata
  const part: KubeObject = {
    kind: info.kind,
    apiVersion: info.group === '' ? info.version : `${info.group}/${info.version}`,
    metadata: { ...(name ? { name } : {}), ...(namespace ? { namespace } : {}) },
  }
  if (replicas !== undefined) write(part, fields.specReplicasPath, replicas)
  return part
}

/** Answers with a Scale are shaped by its own kind. */
function scaleEndpoint(endpoint: Endpoint): Endpoint {
  const { columns: _columns, ...rest } = endpoint
  return rest
}
