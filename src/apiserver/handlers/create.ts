import { newBadRequest } from '../../apimachinery/errors.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import { expectedOf } from '../codec/codec.ts'
import { requireBodyType } from '../codec/content-type.ts'
import { dedupOwnerReferences, wipeSystemFields } from '../registry/metadata.ts'
import type { ResourceStore } from '../registry/resource-store.ts'
import type { ApiResponse } from '../request/api-request.ts'
import { parseWriteRequest } from '../request/write-options.ts'
import { AdmissionGate, checkTarget, ensureNamespace, type HandlerEnvironment, managerOf, readBody, type Target, writeScope } from './request-scope.ts'

/** POST of a new object. */
export async function handleCreate(environment: HandlerEnvironment, target: Target): Promise<ApiResponse> {
  const { context, endpoint } = target
  checkTarget(endpoint, target.namespace, undefined)
  const form = environment.responder.negotiator.negotiate(context, endpoint.mediaTypes, true)
  requireBodyType(context, endpoint)
  const bytes = await readBody(environment, context)
  const options = parseWriteRequest(context, 'CreateOptions')
  const expected = expectedOf(endpoint)
  const warn = (text: string) => context.warn(text)
  const decoded = bytes
    ? environment.codec.decode(bytes, context.request.headers['content-type'], expected, options.fieldValidation, warn)
    : environment.codec.fromValue(context.request.object, expected, options.fieldValidation, warn)
  ensureNamespace(endpoint, target.namespace, decoded)
  const named: Target = { ...target, name: '' }
  const manager = managerOf(context, options)
  const object = await prepareNew(
    environment,
    named,
    decoded,
    manager,
    options.dryRun,
    optionsObject('CreateOptions', options, context.query.get('fieldManager')),
  )
  const gate = object.gate
  const scope = writeScope(environment, target, 'create', options.dryRun)
  const written = await (endpoint.store as ResourceStore).create(scope, object.object, (final) => gate.validate('CREATE', final))
  if (written.stored) return environment.responder.stored(context, endpoint, form, 201, written.stored)
  return environment.responder.object(context, endpoint, form, 201, endpoint.fromStorage(written.object))
}

/** Defaults, ownership and mutating admission of a new object; shared with create by PUT and by apply. */
export async function prepareNew(
  environment: HandlerEnvironment,
  target: Target,
  decoded: KubeObject,
  manager: string,
  dryRun: boolean,
  options: Record<string, unknown>,
  applied = false,
): Promise<{ object: KubeObject; gate: AdmissionGate }> {
  const { endpoint } = target
  wipeSystemFields(decoded.metadata)
  let object = toDefaultedStorage(endpoint, decoded)
  warnDuplicateOwners(target, object, false)
  if (!applied) object = environment.managedFields.update(endpoint, undefined, object, manager, '')
  const gate = new AdmissionGate(environment, target, options, dryRun)
  object = (await gate.admit('CREATE', object)) as KubeObject
  warnDuplicateOwners(target, object, true)
  if (endpoint.info.namespaced && (object.metadata.namespace ?? '') !== target.namespace) {
    throw newBadRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  return { object, gate }
}

/** From the spoken version to the stored one, with the kind's defaults filled. */
export function toDefaultedStorage(endpoint: Target['endpoint'], decoded: KubeObject): KubeObject {
  const object = endpoint.toStorage(decoded)
  endpoint.store?.strategy.defaults?.(object as never)
  return object
}

export function warnDuplicateOwners(target: Target, object: KubeObject, afterAdmission: boolean): void {
  const uids = dedupOwnerReferences(object.metadata)
  if (uids.length === 0) return
  target.context.warn(
    afterAdmission
      ? `.metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids.join(', ')}`
      : `.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids.join(', ')}`,
  )
}

/** The options as an object, as admission webhooks are shown them. */
export function optionsObject(
  kind: string,
  options: { dryRun: boolean; fieldValidation?: string; force?: boolean | undefined },
  fieldManager: string | undefined,
): Record<string, unknown> {
  return {
    kind,
    apiVersion: 'meta.k8s.io/v1',
    ...(options.dryRun ? { dryRun: ['All'] } : {}),
    ...(options.force !== undefined ? { force: options.force } : {}),
    ...(fieldManager ? { fieldManager } : {}),
    ...(options.fieldValidation ? { fieldValidation: options.fieldValidation } : {}),
  }
}
