import type { DeleteOptions } from '../../apimachinery/meta/v1/types.generated.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import { yielder } from '../../base/yielder.ts'
import { requireBodyType } from '../codec/content-type.ts'
import type { ResourceStore } from '../registry/resource-store.ts'
import type { ApiResponse } from '../request/api-request.ts'
import { encodeContinue } from '../request/continue-token.ts'
import { parseListRequest, validateListRequest } from '../request/list-options.ts'
import { deleteOptionsOfQuery, validateDeleteOptions } from '../request/write-options.ts'
import { type ListMeta, listMeta, readList } from './list.ts'
import { AdmissionGate, checkTarget, type HandlerEnvironment, readBody, type Target, writeScope } from './request-scope.ts'
import { parseSelection } from './selectors.ts'

/** DELETE of one object. */
export async function handleDelete(environment: HandlerEnvironment, target: Target): Promise<ApiResponse> {
  const { context, endpoint } = target
  checkTarget(endpoint, target.namespace, target.name)
  const form = environment.responder.negotiator.negotiate(context, endpoint.mediaTypes, true)
  const options = await readDeleteOptions(environment, target)
  const dryRun = (options.dryRun?.length ?? 0) > 0
  const store = endpoint.store as ResourceStore
  const gate = new AdmissionGate(environment, target, { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1', ...options }, dryRun)
  const written = await store.delete(writeScope(environment, target, 'delete', dryRun), target.namespace, target.name, options, async (old) => {
    await gate.admit('DELETE', undefined, old)
    await gate.validate('DELETE', undefined, old)
    for (const text of store.strategy.warningsOnDelete?.(old as never, options) ?? []) context.warn(text)
  })
  const waits = !written.removed && options.orphanDependents === false
  const status = waits ? 202 : 200
  if (written.removed && !store.strategy.returnDeletedObject) {
    return environment.responder.value(context, form, status, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: {
        name: target.name,
        ...(endpoint.gr.group === '' ? {} : { group: endpoint.gr.group }),
        kind: endpoint.gr.resource,
        uid: written.object.metadata.uid,
      },
    })
  }
  if (written.stored && !written.removed) return environment.responder.stored(context, endpoint, form, status, written.stored)
  return environment.responder.object(context, endpoint, form, status, endpoint.fromStorage(written.object))
}

/** The options of a delete: the body when there is one, else the query. */
export async function readDeleteOptions(environment: HandlerEnvironment, target: Target): Promise<DeleteOptions> {
  const { context, endpoint } = target
  let options: DeleteOptions
  const given = context.request.object
  const bytes = await readBody(environment, context)
  if (given !== undefined) options = { ...(given as DeleteOptions) }
  else if (bytes && bytes.length > 0) {
    requireBodyType(context, endpoint)
    options = environment.codec.deleteOptions(bytes, context.request.headers['content-type'])
  } else options = deleteOptionsOfQuery(context)
  validateDeleteOptions(options)
  return options
}

const PAGE = 10_000

/** DELETE of all objects that match. */
export async function handleDeleteCollection(environment: HandlerEnvironment, target: Target): Promise<ApiResponse> {
  const { context, endpoint } = target
  const form = environment.responder.negotiator.negotiate(context, endpoint.mediaTypes, true)
  const request = parseListRequest(context.query)
  validateListRequest(request, false)
  const selection = parseSelection(endpoint, request.labelSelector, request.fieldSelector)
  const options = await readDeleteOptions(environment, target)
  const dryRun = (options.dryRun?.length ?? 0) > 0
  const store = endpoint.store as ResourceStore
  const tick = yielder()
  const deleted: KubeObject[] = []
  let page = { ...request, limit: request.limit > 0 ? request.limit : PAGE }
  let meta: ListMeta
  for (;;) {
    const list = await readList(endpoint, target.namespace, page, selection)
    meta = listMeta(list, selection)
    for (const item of list.items) {
      const meta = item.object.metadata
      const one: Target = { ...target, namespace: meta.namespace ?? '', name: meta.name as string }
      const gate = new AdmissionGate(environment, one, { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1', ...options }, dryRun)
      try {
        await store.delete(writeScope(environment, one, 'delete', dryRun), one.namespace, one.name, options, async (old) => {
          await gate.admit('DELETE', undefined, old)
          await gate.validate('DELETE', undefined, old)
        })
        deleted.push(item.object)
      } catch (error) {
        if (!isGone(error)) throw error
      }
      const pause = tick()
      if (pause) await pause
    }
    if (!list.next || request.limit > 0) break
    page = { ...page, resourceVersion: '', resourceVersionMatch: '', continue: encodeContinue(list.next.key, list.next.revision) }
  }
  const { info } = endpoint
  return environment.responder.collection(context, endpoint, form, {
    kind: `${info.kind}List`,
    apiVersion: info.group === '' ? info.version : `${info.group}/${info.version}`,
    metadata: meta,
    items: deleted.map((o) => endpoint.fromStorage(o)),
  })
}

function isGone(error: unknown): boolean {
  return error instanceof Error && (error as { reason?: string }).reason === 'NotFound'
}
