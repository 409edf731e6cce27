import { type ResourceInfo, scheme } from '../api/index.ts'
import { isNotFound, newAlreadyExists, newConflict, newGone, newNotFound, OPTIMISTIC_LOCK_TEXT, StatusError, toStatusError } from '../apimachinery/errors.ts'
import { parseFieldSelector } from '../apimachinery/fields.ts'
import { parseSelector } from '../apimachinery/labels.ts'
import { apiVersionOf, type KubeObject, type Unstructured } from '../apimachinery/object.ts'
import { applyJSONPatch, applyMergePatch, applyStrategicMergePatch } from '../apimachinery/patch/index.ts'
import type { Schema, StructSchema } from '../apimachinery/schema/schema.ts'
import { formatTime } from '../apimachinery/time.ts'
import { AsyncQueue, type Clock, deepCopy, deepEqual, deepFreeze, type Random, randomString, setOwn } from '../base/index.ts'
import type { WatchEvent } from '../client/client.ts'
import type { Transport, TransportRequest, TransportResponse } from '../client/transport.ts'

interface Watcher {
  info: ResourceInfo
  namespace: string
  matches(object: Unstructured): boolean
  queue: AsyncQueue<WatchEvent>
  metadataOnly: boolean
}

interface Route {
  info: ResourceInfo
  namespace: string
  name: string
  subresource: string
  query: URLSearchParams
}

const SELECTABLE: Record<string, (o: Unstructured) => Record<string, string>> = {
  pods: (o) => ({
    'spec.nodeName': String((o['spec'] as { nodeName?: string } | undefined)?.nodeName ?? ''),
    'status.phase': String((o['status'] as { phase?: string } | undefined)?.phase ?? ''),
  }),
  secrets: (o) => ({ type: String(o['type'] ?? '') }),
}

/** Controllers' requests answered from memory, for unit tests: objects, versions, watches, finalizers and patches; no admission, defaults or validation. */
export class FakeApi implements Transport {
  readonly requests: { method: string; path: string; body: unknown }[] = []
  private readonly clock: Clock
  private readonly random: Random
  private readonly objects = new Map<string, Map<string, Unstructured>>()
  private readonly watchers = new Set<Watcher>()
  private version = 100
  private closed = false
  /** Called before each request: throw to make it fail. */
  intercept: ((method: string, path: string, body: unknown) => void) | undefined

  constructor(clock: Clock, random: Random) {
    this.clock = clock
    this.random = random
  }

  get openWatches(): number {
    return this.watchers.size
  }

  /** Ends all watches as a server does that restarts. */
  endWatches(): void {
    for (const w of [...this.watchers]) {
      this.watchers.delete(w)
      w.queue.close()
    }
  }

  close(): void {
    this.closed = true
    for (const w of this.watchers) w.queue.close()
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    if (this.closed) throw new Error('closed')
    await Promise.resolve()
    request.signal?.throwIfAborted()
    const body = request.body && 'object' in request.body ? deepCopy(request.body.object) : undefined
    if (request.method !== 'GET') this.requests.push({ method: request.method, path: request.path, body })
    try {
      this.intercept?.(request.method, request.path, body)
      const route = this.route(request.path)
      if (!route) return this.discovery(request)
      if (request.watch) return this.watch(route, request)
      const result = this.serve(request, route, body)
      return answer(request.method === 'POST' ? 201 : 200, deepFreeze(result))
    } catch (error) {
      const status = toStatusError(error)
      return answer(status.code, status.toStatus())
    }
  }

  private route(path: string): Route | undefined {
    const url = new URL(path, 'http://fake')
    const parts = url.pathname.split('/').slice(1).map(decodeURIComponent)
    let group = ''
    let at = 2
    if (parts[0] === 'apis') {
      group = parts[1] ?? ''
      at = 3
    }
    const version = parts[at - 1] ?? ''
    let namespace = ''
    if (parts[at] === 'namespaces' && parts.length > at + 2 && parts[at + 2] !== 'finalize' && parts[at + 2] !== 'status') {
      namespace = parts[at + 1] ?? ''
      at += 2
    }
    const info = scheme.forResource({ group, version, resource: parts[at] ?? '' })
    if (!info) return undefined
    return { info, namespace, name: parts[at + 1] ?? '', subresource: parts.slice(at + 2).join('/'), query: url.searchParams }
  }

  private discovery(request: TransportRequest): TransportResponse {
    const path = request.path.split('?')[0] ?? ''
    const groups = new Map<string, Set<string>>()
    for (const r of scheme.served()) {
      if (!groups.has(r.group)) groups.set(r.group, new Set())
      groups.get(r.group)?.add(r.version)
    }
    if (path === '/api') return answer(200, { kind: 'APIVersions', versions: ['v1'] })
    if (path === '/apis') {
      const list = [...groups].filter(([g]) => g !== '')
      const versionOf = (g: string, v: string) => ({ groupVersion: `${g}/${v}`, version: v })
      return answer(200, {
        kind: 'APIGroupList',
        groups: list.map(([name, versions]) => ({
          name,
          versions: [...versions].map((v) => versionOf(name, v)),
          preferredVersion: versionOf(name, [...versions][0] as string),
        })),
      })
    }
    const parts = path.split('/').slice(1)
    const gv = parts[0] === 'api' ? { group: '', version: parts[1] ?? '' } : { group: parts[1] ?? '', version: parts[2] ?? '' }
    const resources = scheme.servedIn(gv)
    if (resources.length === 0) return answer(404, { kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404, message: 'not found' })
    return answer(200, {
      kind: 'APIResourceList',
      groupVersion: apiVersionOf(gv),
      resources: resources.map((r) => ({ name: r.resource, kind: r.kind, namespaced: r.namespaced, verbs: r.verbs, singularName: r.singular })),
    })
  }

  private table(info: ResourceInfo): Map<string, Unstructured> {
    const key = `${info.group}/${info.resource}`
    let table = this.objects.get(key)
    if (!table) this.objects.set(key, (table = new Map()))
    return table
  }

  private serve(request: TransportRequest, route: Route, body: unknown): unknown {
    const { info, name, subresource } = route
    const metadataOnly = request.headers['accept']?.includes('PartialObjectMetadata') ?? false
    switch (request.method) {
      case 'GET':
        if (name === '') {
          const items = this.select(route).map((o) => (metadataOnly ? partial(o) : o))
          return { kind: `${info.kind}List`, apiVersion: apiVersionOf(info), metadata: { resourceVersion: String(this.version) }, items }
        }
        return metadataOnly ? partial(this.find(route)) : this.find(route)
      case 'POST':
        return subresource === '' ? this.create(route, body as Unstructured) : this.postSub(route, body as Unstructured)
      case 'PUT':
        return this.update(route, body as Unstructured)
      case 'PATCH':
        return this.patch(request, route, body)
      case 'DELETE':
        if (name === '') {
          for (const o of this.select(route))
            this.remove({ ...route, name: o.metadata.name ?? '', namespace: o.metadata.namespace ?? '' }, body as Record<string, unknown>)
          return { kind: 'Status', status: 'Success' }
        }
        return this.remove(route, (body ?? {}) as Record<string, unknown>)
      default:
        throw new StatusError({ code: 405, reason: 'MethodNotAllowed', message: 'no' })
    }
  }

  private key(route: Route): string {
    return route.info.namespaced ? `${route.namespace}/${route.name}` : route.name
  }

  private find(route: Route): Unstructured {
    const object = this.table(route.info).get(this.key(route))
    if (!object) throw newNotFound(route.info, route.name)
    return object
  }

  private filter(route: Route): (o: Unstructured) => boolean {
    const labels = parseSelector(route.query.get('labelSelector') ?? '')
    const fields = parseFieldSelector(route.query.get('fieldSelector') ?? '')
    const selectable = SELECTABLE[route.info.resource]
    return (o) =>
      (route.namespace === '' || o.metadata.namespace === route.namespace) &&
      labels.matches(o.metadata.labels ?? {}) &&
      fields.matches({ 'metadata.name': o.metadata.name ?? '', 'metadata.namespace': o.metadata.namespace ?? '', ...selectable?.(o) })
  }

  private select(route: Route): Unstructured[] {
    return [...this.table(route.info).values()].filter(this.filter(route))
  }

  private create(route: Route, object: Unstructured): Unstructured {
    const { info } = route
    const meta = object.metadata
    if (info.storageVersion === undefined) return object
    if (!meta.name && meta.generateName) meta.name = meta.generateName + randomString(this.random, 5)
    if (info.namespaced) {
      meta.namespace ??= route.namespace
      const ns = this.objects.get('/namespaces')?.get(meta.namespace)
      if (ns?.metadata.deletionTimestamp) {
        throw new StatusError({
          code: 403,
          reason: 'Forbidden',
          message: `unable to create new content in namespace ${meta.namespace} because it is being terminated`,
          details: { causes: [{ reason: 'NamespaceTerminating', message: 'x' }] },
        })
      }
    }
    const key = info.namespaced ? `${meta.namespace}/${meta.name}` : (meta.name ?? '')
    if (this.table(info).has(key)) throw newAlreadyExists(info, meta.name ?? '')
    meta.uid = this.random.uuid()
    meta.creationTimestamp = formatTime(this.clock.now())
    meta.generation = 1
    if (info.resource === 'namespaces') {
      object['spec'] = { finalizers: ['kubernetes'] }
      object['status'] = { phase: 'Active' }
    }
    if (info.resource === 'pods') object['status'] = { phase: 'Pending', ...((object['status'] as object | undefined) ?? {}) }
    return this.store(info, key, conform({ apiVersion: apiVersionOf(info), kind: info.kind, ...object }, info.schema()) as Unstructured, 'ADDED')
  }

  private postSub(route: Route, body: Unstructured): unknown {
    if (route.subresource === 'eviction') return this.remove(route, {})
    const found = deepCopy(this.find(route))
    if (route.subresource === 'binding') {
      setOwn(found['spec'] as Record<string, unknown>, 'nodeName', (body['target'] as { name: string }).name)
      return this.store(route.info, this.key(route), found, 'MODIFIED')
    }
    return body
  }

  private update(route: Route, object: Unstructured): Unstructured {
    const before = this.find(route)
    const { info, subresource } = route
    const sent = object.metadata.resourceVersion
    if (sent && sent !== before.metadata.resourceVersion) throw newConflict(info, route.name, OPTIMISTIC_LOCK_TEXT)
    if (object.metadata.uid && object.metadata.uid !== before.metadata.uid) throw newConflict(info, route.name, 'Precondition failed: UID in precondition')
    return this.write(route, before, object, subresource)
  }

  private write(route: Route, before: Unstructured, sent: Unstructured, subresource: string): Unstructured {
    const { info } = route
    const hasStatus = info.subresources.some((s) => s.name === 'status')
    let next: Unstructured
    if (subresource === 'status') next = { ...before, status: sent['status'] }
    else if (subresource === 'finalize') next = { ...before, spec: sent['spec'] }
    else next = { ...sent, ...(hasStatus ? { status: before['status'] } : {}) }
    const m = before.metadata
    next.metadata = {
      ...(subresource === 'finalize' ? m : subresource === 'status' ? { ...m, annotations: sent.metadata.annotations } : sent.metadata),
      name: m.name,
      namespace: m.namespace,
      uid: m.uid,
      creationTimestamp: m.creationTimestamp,
      generation: m.generation,
      deletionTimestamp: m.deletionTimestamp,
      deletionGracePeriodSeconds: m.deletionGracePeriodSeconds,
      resourceVersion: m.resourceVersion,
    }
    next = conform(deepCopy(JSON.parse(JSON.stringify(next)) as Unstructured), info.schema()) as Unstructured
    if (deepEqual(next, before)) return before
    if (subresource === '' && !deepEqual(next['spec'], before['spec'])) next.metadata.generation = (m.generation ?? 0) + 1
    const done = next.metadata.deletionTimestamp && !next.metadata.finalizers?.length && next.metadata.deletionGracePeriodSeconds !== 30
    if (done && !((next['spec'] as { finalizers?: string[] } | undefined)?.finalizers?.length && info.resource === 'namespaces'))
      return this.drop(info, this.key(route), next)
    return this.store(info, this.key(route), next, 'MODIFIED')
  }

  private patch(request: TransportRequest, route: Route, patch: unknown): Unstructured {
    const type = request.headers['content-type']
    let before: Unstructured
    try {
      before = this.find(route)
    } catch (error) {
      if (type === 'application/apply-patch+yaml' && isNotFound(error)) return this.create(route, patch as Unstructured)
      throw error
    }
    let after: unknown
    if (type === 'application/json-patch+json') after = applyJSONPatch(before, patch)
    else if (type === 'application/merge-patch+json') after = applyMergePatch(before, patch)
    else after = applyStrategicMergePatch(before, patch, route.info.schema())
    const object = deepCopy(after) as Unstructured
    if (object.metadata.uid !== before.metadata.uid) throw newConflict(route.info, route.name, 'Precondition failed: UID in precondition')
    return this.write(route, before, object, route.subresource)
  }

  private remove(route: Route, options: Record<string, unknown>): unknown {
    const before = this.find(route)
    const { info } = route
    const uid = (options['preconditions'] as { uid?: string } | undefined)?.uid
    if (uid && uid !== before.metadata.uid) throw newConflict(info, route.name, 'Precondition failed: UID in precondition')
    const next = deepCopy(before)
    const finalizers = new Set(next.metadata.finalizers ?? [])
    const policy = options['propagationPolicy']
    if (policy) {
      finalizers.delete('orphan')
      finalizers.delete('foregroundDeletion')
      if (policy === 'Orphan') finalizers.add('orphan')
      if (policy === 'Foreground') finalizers.add('foregroundDeletion')
    }
    const held = info.resource === 'namespaces' && ((next['spec'] as { finalizers?: string[] }).finalizers?.length ?? 0) > 0
    const graceful = info.resource === 'pods' && (next['spec'] as { nodeName?: string }).nodeName && options['gracePeriodSeconds'] !== 0
    if (finalizers.size === 0 && !held && !graceful) return this.drop(info, this.key(route), next)
    if (finalizers.size > 0) next.metadata.finalizers = [...finalizers]
    next.metadata.deletionTimestamp ??= formatTime(this.clock.now())
    next.metadata.deletionGracePeriodSeconds = graceful ? 30 : 0
    if (info.resource === 'namespaces') next['status'] = { ...(next['status'] as object), phase: 'Terminating' }
    if (deepEqual(next, before)) return before
    return this.store(info, this.key(route), next, 'MODIFIED')
  }

  private store(info: ResourceInfo, key: string, object: Unstructured, type: 'ADDED' | 'MODIFIED'): Unstructured {
    const before = this.table(info).get(key)
    object.metadata.resourceVersion = String(++this.version)
    deepFreeze(object)
    this.table(info).set(key, object)
    this.notify(info, type, object, before)
    return object
  }

  private drop(info: ResourceInfo, key: string, last: Unstructured): Unstructured {
    const before = this.table(info).get(key)
    this.table(info).delete(key)
    last.metadata.resourceVersion = String(++this.version)
    deepFreeze(last)
    this.notify(info, 'DELETED', last, before)
    return last
  }

  private notify(info: ResourceInfo, type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Unstructured, before: Unstructured | undefined): void {
    for (const w of this.watchers) {
      if (w.info.resource !== info.resource || w.info.group !== info.group) continue
      const now = type !== 'DELETED' && w.matches(object)
      const then = before !== undefined && w.matches(before)
      if (!now && !then) continue
      const seen = now ? (then ? 'MODIFIED' : 'ADDED') : 'DELETED'
      w.queue.push({ type: seen, object: w.metadataOnly ? partial(object) : object })
    }
  }

  private watch(route: Route, request: TransportRequest): TransportResponse {
    const queue = new AsyncQueue<WatchEvent>(100_000)
    const metadataOnly = request.headers['accept']?.includes('PartialObjectMetadata') ?? false
    const watcher: Watcher = { info: route.info, namespace: route.namespace, matches: this.filter(route), queue, metadataOnly }
    if (!route.info.verbs.includes('watch')) throw newGone('no watch')
    if (route.query.get('sendInitialEvents') === 'true') {
      for (const object of this.select(route)) queue.push({ type: 'ADDED', object: metadataOnly ? partial(object) : object })
      const metadata = { resourceVersion: String(this.version), annotations: { 'k8s.io/initial-events-end': 'true' } }
      queue.push({ type: 'BOOKMARK', object: { kind: route.info.kind, apiVersion: apiVersionOf(route.info), metadata } as KubeObject })
    }
    this.watchers.add(watcher)
    const stop = () => {
      this.watchers.delete(watcher)
      queue.close()
    }
    request.signal?.addEventListener('abort', stop, { once: true })
    return { ...answer(200, undefined), events: { [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](), stop } }
  }
}

function answer(status: number, body: unknown): TransportResponse {
  return {
    status,
    headers: {},
    object: async () => body,
    text: async () => JSON.stringify(body),
    async *stream() {
      yield new TextEncoder().encode(JSON.stringify(body))
    },
  }
}

function partial(object: Unstructured): Unstructured {
  return deepFreeze({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata })
}

/** Adds the structs that Go always prints. */
function conform(value: unknown, schema: Schema): unknown {
  if (value === null || value === undefined) return value
  if (schema.kind === 'list' && Array.isArray(value)) return value.map((v) => conform(v, schema.elem))
  if (schema.kind === 'map' && typeof value === 'object') {
    for (const [k, v] of Object.entries(value)) setOwn(value as Record<string, unknown>, k, conform(v, schema.elem))
    return value
  }
  if (schema.kind !== 'struct' || typeof value !== 'object') return value
  const object = value as Record<string, unknown>
  for (const field of (schema as StructSchema).fields) {
    if (object[field.name] === undefined && field.schema.kind === 'struct' && !field.pointer) object[field.name] = {}
    if (object[field.name] === null) delete object[field.name]
    if (object[field.name] !== undefined) object[field.name] = conform(object[field.name], field.schema)
  }
  return object
}
