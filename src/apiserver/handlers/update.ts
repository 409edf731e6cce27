import { newConflict } from '../../apimachinery/errors.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import { deepCopy } from '../../base/deep-freeze.ts'
import { expectedOf } from '../codec/codec.ts'
import { requireBodyType } from '../codec/content-type.ts'
import type { ResourceStore } from '../registry/resource-store.ts'
import type { SubresourceStrategy } from '../registry/strategy.ts'
import type { ApiResponse } from '../request/api-request.ts'
import { parseWriteRequest } from '../request/write-options.ts'
import { optionsObject, prepareNew, toDefaultedStorage, warnDuplicateOwners } from './create.ts'
import {
  AdmissionGate,
  authorizeCreate,
  checkTarget,
  ensureName,
  ensureNamespace,
  type HandlerEnvironment,
  managerOf,
  readBody,
  type Target,
  writeScope,
} from './request-scope.ts'

/** PUT of an object or of one of its object-shaped subresources. */
export async function handleUpdate(environment: HandlerEnvironment, target: Target, subresource?: SubresourceStrategy): Promise<ApiResponse> {
  const { context, endpoint } = target
  checkTarget(endpoint, target.namespace, target.name)
  const form = environment.responder.negotiator.negotiate(context, endpoint.mediaTypes, true)
  requireBodyType(context, endpoint)
  const bytes = await readBody(environment, context)
  const options = parseWriteRequest(context, 'UpdateOptions')
  const expected = expectedOf(endpoint)
  const warn = (text: string) => context.warn(text)
  const read = (note: (text: string) => void): KubeObject => {
    const decoded = bytes
      ? environment.codec.decode(bytes, context.request.headers['content-type'], expected, options.fieldValidation, note)
      : environment.codec.fromValue(context.request.object, expected, options.fieldValidation, note)
    ensureNamespace(endpoint, target.namespace, decoded)
    ensureName(target, decoded)
    return toDefaultedStorage(endpoint, decoded)
  }
  const submitted = read(warn)
  const manager = managerOf(context, options)
  warnDuplicateOwners(target, submitted, false)
  const uid = submitted.metadata.uid
  let asked = false
  const store = endpoint.store as ResourceStore
  const gate = new AdmissionGate(environment, target, optionsObject('UpdateOptions', options, context.query.get('fieldManager')), options.dryRun)
  const written = await store.update(writeScope(environment, target, 'update', options.dryRun), target.namespace, target.name, {
    transform: async (old) => {
      // The store may ask again after a race; strategies and admission change what they are given. Bytes are simply read again.
      const mine = !bytes ? deepCopy(submitted) : asked ? read(() => {}) : submitted
      asked = true
      if (uid && uid !== (old?.metadata.uid ?? '')) {
        throw newConflict(
          endpoint.gr,
          target.name,
          `StorageError: invalid object, Code: 4, Key: ${storeKey(store, target)}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old?.metadata.uid ?? ''}`,
        )
      }
      if (!old) return (await prepareNew(environment, target, mine, manager, options.dryRun, optionsObject('CreateOptions', options, undefined))).object
      let object = environment.managedFields.update(endpoint, old, mine, manager, target.subresource)
      object = (await gate.admit('UPDATE', object, old)) as KubeObject
      warnDuplicateOwners(target, object, true)
      return object
    },
    validateCreate: (object) => new AdmissionGate(environment, target, {}, options.dryRun).validate('CREATE', object),
    validateUpdate: (object, old) => gate.validate('UPDATE', object, old),
    authorizeCreate: () => authorizeCreate(environment, context),
    ...(subresource ? { subresource } : {}),
  })
  const status = written.created ? 201 : 200
  if (written.stored) return environment.responder.stored(context, endpoint, form, status, written.stored)
  return environment.responder.object(context, endpoint, form, status, endpoint.fromStorage(written.object))
}

function storeKey(store: ResourceStore, target: Target): string {
  return `${store.info.etcdPrefix ?? `/registry/${store.info.resource}`}/${store.key(target.namespace, target.name)}`
}
