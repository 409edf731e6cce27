import { newBadRequest } from '../../apimachinery/errors.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import { type Expected, expectedOf } from '../codec/codec.ts'
import { requireBodyType } from '../codec/content-type.ts'
import type { SubresourceEndpoint } from '../endpoints/endpoint.ts'
import type { ApiResponse } from '../request/api-request.ts'
import { parseWriteRequest } from '../request/write-options.ts'
import { optionsObject } from './create.ts'
import { AdmissionGate, checkTarget, ensureNamespace, type HandlerEnvironment, managerOf, readBody, type Target } from './request-scope.ts'

const same = (object: KubeObject) => object

/** POST to a subresource such as `binding`, `eviction` or `token`. */
export async function handleCreateSubresource(
  environment: HandlerEnvironment,
  target: Target,
  subresource: Extract<SubresourceEndpoint, { kind: 'create' }>,
): Promise<ApiResponse> {
  const { context, endpoint } = target
  checkTarget(endpoint, target.namespace, target.name)
  const form = environment.responder.negotiator.negotiate(context, endpoint.mediaTypes, false)
  const expected: Expected = { gvk: subresource.gvk, schema: () => environment.schemaOf(subresource.gvk), custom: false }
  const { object, dryRun, options, manager } = await readNew(environment, target, expected)
  if (subresource.handler.defaults) {
    subresource.handler.defaults(object)
    const spoken = { ...endpoint, info: { ...endpoint.info, ...subresource.gvk, schema: expected.schema }, toStorage: same, fromStorage: same }
    environment.managedFields.update(spoken, undefined, object, manager, target.subresource)
  }
  if (object.metadata) {
    const namespace = object.metadata.namespace ?? ''
    if (namespace !== '' && namespace !== target.namespace) {
      throw newBadRequest('the namespace of the provided object does not match the namespace sent on the request')
    }
    object.metadata.namespace = target.namespace
    if (!object.metadata.name) object.metadata.name = target.name
  }
  const gate = new AdmissionGate(environment, target, options, dryRun, subresource.gvk)
  const admitted = (await gate.admit('CREATE', object)) as KubeObject
  const answer = await subresource.handler.create({
    context,
    endpoint,
    namespace: target.namespace,
    name: target.name,
    object: admitted,
    dryRun,
    validate: async (final) => gate.validate('CREATE', final),
  })
  return environment.responder.value(context, form, 201, answer)
}

/** POST to a resource that is only asked, such as a review. */
export async function handleVirtualCreate(environment: HandlerEnvironment, target: Target): Promise<ApiResponse> {
  const { context, endpoint } = target
  checkTarget(endpoint, target.namespace, undefined)
  const form = environment.responder.negotiator.negotiate(context, endpoint.mediaTypes, false)
  const { object, dryRun, options, manager } = await readNew(environment, target, expectedOf(endpoint))
  ensureNamespace(endpoint, target.namespace, object)
  environment.managedFields.update(endpoint, undefined, object, manager, '')
  const gate = new AdmissionGate(environment, { ...target, name: '' }, options, dryRun)
  const admitted = (await gate.admit('CREATE', object)) as KubeObject
  await gate.validate('CREATE', admitted)
  const create = endpoint.virtual?.create
  if (!create) throw newBadRequest('not supported')
  const answer = await create({ context, endpoint, namespace: target.namespace, object: admitted, dryRun })
  return environment.responder.value(context, form, 201, answer)
}

/** GET of a computed object, or of all of them. */
export async function handleVirtualRead(environment: HandlerEnvironment, target: Target): Promise<ApiResponse> {
  const { context, endpoint } = target
  const form = environment.responder.negotiator.negotiate(context, endpoint.mediaTypes, true)
  const virtual = endpoint.virtual
  if (target.name !== '' && virtual?.get) {
    checkTarget(endpoint, target.namespace, target.name)
    return environment.responder.object(context, endpoint, form, 200, await virtual.get({ context, endpoint, namespace: target.namespace, name: target.name }))
  }
  const items = (await virtual?.list?.({ context, endpoint, namespace: target.namespace })) ?? []
  const { info } = endpoint
  return environment.responder.collection(context, endpoint, form, {
    kind: `${info.kind}List`,
    apiVersion: info.group === '' ? info.version : `${info.group}/${info.version}`,
    metadata: {},
    items,
  })
}

async function readNew(
  environment: HandlerEnvironment,
  target: Target,
  expected: Expected,
): Promise<{ object: KubeObject; dryRun: boolean; options: Record<string, unknown>; manager: string }> {
  const { context, endpoint } = target
  requireBodyType(context, endpoint)
  const bytes = await readBody(environment, context)
  const write = parseWriteRequest(context, 'CreateOptions')
  const warn = (text: string) => context.warn(text)
  const object = bytes
    ? environment.codec.decode(bytes, context.request.headers['content-type'], expected, write.fieldValidation, warn)
    : environment.codec.fromValue(context.request.object, expected, write.fieldValidation, warn)
  return { object, dryRun: write.dryRun, manager: managerOf(context, write), options: optionsObject('CreateOptions', write, context.query.get('fieldManager')) }
}
