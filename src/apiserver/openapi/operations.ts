import type { ResourceInfo, Scheme, SubresourceInfo } from '../../api/scheme.ts'
import type { Schema, StructSchema } from '../../apimachinery/schema/schema.ts'
import type { GroupVersionKindExtension } from './definitions.ts'

export type Method = 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch'

export interface Parameter {
  readonly name: string
  readonly in: 'query' | 'path'
  readonly type: 'string' | 'integer' | 'boolean'
}

/** What a request or response carries. */
export type Content =
  | { readonly kind: 'type'; readonly schema: StructSchema }
  | { readonly kind: 'patch' }
  /** Plain text or a stream. */
  | { readonly kind: 'string' }

export interface Operation {
  readonly method: Method
  readonly id: string
  readonly action?: string
  readonly gvk?: GroupVersionKindExtension
  readonly parameters: readonly Parameter[]
  readonly body?: { readonly content: Content; readonly required: boolean }
  /** Media types of the answer: an object's, a list's with streams, a log's, or anything. */
  readonly answers: 'object' | 'list' | 'log' | 'any'
  /** Content by status code, besides 401. */
  readonly responses: readonly (readonly [code: number, content: Content])[]
}

export interface Path {
  readonly path: string
  /** Path parameters, and query parameters that every operation has. */
  readonly parameters: readonly Parameter[]
  readonly operations: readonly Operation[]
}

const query = (name: string, type: Parameter['type'] = 'string'): Parameter => ({ name, in: 'query', type })
const inPath = (name: string): Parameter => ({ name, in: 'path', type: 'string' })

const PRETTY = query('pretty')
/** Query parameters of writes. */
export const WRITE_PARAMETERS: readonly Parameter[] = [query('dryRun'), query('fieldManager'), query('fieldValidation')]
const PATCH = [...WRITE_PARAMETERS, query('force', 'boolean')]
const DELETE = [
  query('dryRun'),
  query('gracePeriodSeconds', 'integer'),
  query('ignoreStoreReadErrorWithClusterBreakingPotential', 'boolean'),
  query('orphanDependents', 'boolean'),
  query('propagationPolicy'),
]
const SELECT = [
  query('continue'),
  query('fieldSelector'),
  query('labelSelector'),
  query('limit', 'integer'),
  query('resourceVersion'),
  query('resourceVersionMatch'),
  query('sendInitialEvents', 'boolean'),
  query('shardSelector'),
  query('timeoutSeconds', 'integer'),
]
const LIST = [query('allowWatchBookmarks', 'boolean'), ...SELECT, query('watch', 'boolean')]
const DELETE_COLLECTION = [...DELETE, ...SELECT]

/** Kinds of the core group that a DELETE answers with the object; resource.k8s.io and storage.k8s.io all do but those below. */
const RETURNED = new Set(['PersistentVolumeClaim', 'Pod', 'PodTemplate', 'ResourceQuota', 'ServiceAccount', 'Service', 'PersistentVolume'])
const NOT_RETURNED = new Set(['CSIStorageCapacity'])

function returnsObject(r: ResourceInfo): boolean {
  if (r.group === '') return RETURNED.has(r.kind)
  return (r.group === 'resource.k8s.io' || r.group === 'storage.k8s.io') && !NOT_RETURNED.has(r.kind)
}

/** `CoreV1`, `RbacAuthorizationV1`: how operation ids name a group version. */
export function operationGroup(group: string): string {
  if (group === '') return 'Core'
  return group
    .replace(/\.k8s\.io$/, '')
    .split('.')
    .map(capital)
    .join('')
}

/** `core`, `rbacAuthorization`: how tags name a group. */
export function tagGroup(group: string): string {
  const name = operationGroup(group)
  return name[0]?.toLowerCase() + name.slice(1)
}

export function capital(s: string): string {
  return s === '' ? '' : (s[0] as string).toUpperCase() + s.slice(1)
}

/** Every path of a group version's resources, sorted. */
export function resourcePaths(scheme: Scheme, resources: readonly ResourceInfo[]): Path[] {
  const out: Path[] = []
  for (const r of resources) new ResourcePaths(scheme, r, out).add()
  return out.sort((a, b) => (a.path < b.path ? -1 : 1))
}

class ResourcePaths {
  private readonly scheme: Scheme
  private readonly r: ResourceInfo
  private readonly out: Path[]
  private readonly root: string
  private readonly version: string
  private readonly scoped: string

  constructor(scheme: Scheme, r: ResourceInfo, out: Path[]) {
    this.scheme = scheme
    this.r = r
    this.out = out
    this.root = r.group === '' ? `/api/${r.version}` : `/apis/${r.group}/${r.version}`
    this.version = `${operationGroup(r.group)}${capital(r.version)}`
    this.scoped = `${r.namespaced ? 'Namespaced' : ''}${r.kind}`
  }

  add(): void {
    const { r, root, version, scoped } = this
    const has = (verb: string) => r.verbs.includes(verb)
    const where = r.namespaced ? [inPath('namespace')] : []
    const collection = `${root}${r.namespaced ? '/namespaces/{namespace}' : ''}/${r.resource}`
    const object: Content = { kind: 'type', schema: r.schema() }
    const status = this.type({ group: '', version: 'v1', kind: 'Status' })
    const deleteOptions = { content: this.type({ group: '', version: 'v1', kind: 'DeleteOptions' }), required: false }
    const body = { content: object, required: true }
    const gvk = gvkOf(r)

    const onCollection: Operation[] = []
    if (has('list')) onCollection.push(this.list(`list${version}${scoped}`))
    if (has('create')) {
      onCollection.push({
        method: 'post',
        id: `create${version}${scoped}`,
        action: 'post',
        gvk,
        parameters: WRITE_PARAMETERS,
        body,
        answers: 'object',
        responses: codes(object, 200, 201, 202),
      })
    }
    if (has('deletecollection')) {
      onCollection.push({
        method: 'delete',
        id: `delete${version}Collection${scoped}`,
        action: 'deletecollection',
        gvk,
        parameters: DELETE_COLLECTION,
        body: deleteOptions,
        answers: 'object',
        responses: codes(status, 200),
      })
    }
    this.path(collection, where, onCollection)
    if (r.namespaced && has('list')) this.path(`${root}/${r.resource}`, [], [this.list(`list${version}${r.kind}ForAllNamespaces`)])

    const item = `${collection}/{name}`
    const named = [inPath('name'), ...where]
    const onItem: Operation[] = []
    if (has('get'))
      onItem.push({ method: 'get', id: `read${version}${scoped}`, action: 'get', gvk, parameters: [], answers: 'object', responses: codes(object, 200) })
    if (has('update')) {
      onItem.push({
        method: 'put',
        id: `replace${version}${scoped}`,
        action: 'put',
        gvk,
        parameters: WRITE_PARAMETERS,
        body,
        answers: 'object',
        responses: codes(object, 200, 201),
      })
    }
    if (has('delete')) {
      const answer = returnsObject(r) ? object : status
      onItem.push({
        method: 'delete',
        id: `delete${version}${scoped}`,
        action: 'delete',
        gvk,
        parameters: DELETE,
        body: deleteOptions,
        answers: 'object',
        responses: codes(answer, 200, 202),
      })
    }
    if (has('patch')) onItem.push(this.patch(`patch${version}${scoped}`, object, gvk))
    this.path(item, named, onItem)

    if (has('watch')) {
      const watchRoot = `${root}/watch`
      const watchCollection = `${watchRoot}${r.namespaced ? '/namespaces/{namespace}' : ''}/${r.resource}`
      this.path(watchCollection, where, [this.watch(`watch${version}${scoped}List`, 'watchlist')])
      if (r.namespaced) this.path(`${watchRoot}/${r.resource}`, [], [this.watch(`watch${version}${r.kind}ListForAllNamespaces`, 'watchlist')])
      this.path(`${watchCollection}/{name}`, named, [this.watch(`watch${version}${scoped}`, 'watch')])
    }
    for (const s of r.subresources) this.subresource(s, item, named)
  }

  private subresource(s: SubresourceInfo, item: string, named: readonly Parameter[]): void {
    const { version, scoped } = this
    const suffix = `${scoped}${capital(s.name)}`
    const gvk = gvkOf(s)
    const schema = this.scheme.schema(s)
    if (!schema) return
    const content: Content = { kind: 'type', schema }
    const path = `${item}/${s.name}`
    if (s.kind.endsWith('Options')) {
      this.connect(s, path, named, suffix, schema)
      return
    }
    if (s.name === 'log') {
      const options = this.scheme.schema({ group: '', version: 'v1', kind: 'PodLogOptions' })
      const parameters = options ? optionParameters(options) : []
      this.path(path, named, [
        { method: 'get', id: `read${version}${suffix}`, action: 'get', gvk, parameters, answers: 'log', responses: [[200, { kind: 'string' }]] },
      ])
      return
    }
    const body = { content, required: true }
    const operations: Operation[] = []
    if (s.verbs.includes('get'))
      operations.push({ method: 'get', id: `read${version}${suffix}`, action: 'get', gvk, parameters: [], answers: 'object', responses: codes(content, 200) })
    if (s.verbs.includes('update')) {
      operations.push({
        method: 'put',
        id: `replace${version}${suffix}`,
        action: 'put',
        gvk,
        parameters: WRITE_PARAMETERS,
        body,
        answers: 'object',
        responses: codes(content, 200, 201),
      })
    }
    if (s.verbs.includes('create')) {
      operations.push({
        method: 'post',
        id: `create${version}${suffix}`,
        action: 'post',
        gvk,
        parameters: WRITE_PARAMETERS,
        body,
        answers: 'object',
        responses: codes(content, 200, 201, 202),
      })
    }
    if (s.verbs.includes('patch')) operations.push(this.patch(`patch${version}${suffix}`, content, gvk))
    this.path(path, named, operations)
  }

  private connect(s: SubresourceInfo, path: string, named: readonly Parameter[], suffix: string, schema: StructSchema): void {
    const proxied = s.verbs.includes('delete')
    const methods: Method[] = proxied ? ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] : ['get', 'post']
    const operations = (tail: string): Operation[] =>
      methods.map((method) => ({
        method,
        id: `connect${this.version}${capital(method)}${suffix}${tail}`,
        action: 'connect',
        gvk: gvkOf(s),
        parameters: optionParameters(schema),
        answers: 'any' as const,
        responses: [[200, { kind: 'string' }]] as const,
      }))
    this.path(path, named, operations(''), false)
    if (proxied) this.path(`${path}/{path}`, [...named, inPath('path')], operations('WithPath'), false)
  }

  private list(id: string): Operation {
    const list = this.type({ ...this.r, kind: `${this.r.kind}List` })
    return { method: 'get', id, action: 'list', gvk: gvkOf(this.r), parameters: LIST, answers: 'list', responses: codes(list, 200) }
  }

  private watch(id: string, action: string): Operation {
    const event = this.type({ group: '', version: 'v1', kind: 'WatchEvent' })
    return { method: 'get', id, action, gvk: gvkOf(this.r), parameters: LIST, answers: 'list', responses: codes(event, 200) }
  }

  private patch(id: string, content: Content, gvk: GroupVersionKindExtension): Operation {
    return {
      method: 'patch',
      id,
      action: 'patch',
      gvk,
      parameters: PATCH,
      body: { content: { kind: 'patch' }, required: true },
      answers: 'object',
      responses: codes(content, 200, 201),
    }
  }

  private type(gvk: GroupVersionKindExtension): Content {
    const schema = this.scheme.schema(gvk)
    if (!schema) throw new Error(`openapi: no type for ${gvk.group}/${gvk.version} ${gvk.kind}`)
    return { kind: 'type', schema }
  }

  /** Query parameters that all operations share move up to the path. */
  private path(path: string, parameters: readonly Parameter[], operations: readonly Operation[], pretty = true): void {
    if (operations.length === 0) return
    const shared = (operations[0] as Operation).parameters.filter((p) => operations.every((o) => o.parameters.some((q) => q.name === p.name)))
    const own = operations.map((o) => ({ ...o, parameters: o.parameters.filter((p) => !shared.some((s) => s.name === p.name)).sort(byName) }))
    this.out.push({ path, parameters: [...parameters, ...(pretty ? [PRETTY] : []), ...shared].sort(byName), operations: own })
  }
}

function codes(content: Content, ...list: number[]): (readonly [number, Content])[] {
  return list.map((code) => [code, content] as const)
}

function byName(a: Parameter, b: Parameter): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}

function gvkOf(o: GroupVersionKindExtension): GroupVersionKindExtension {
  return { group: o.group, version: o.version, kind: o.kind }
}

/** Query parameters of an options kind: its scalar fields. */
function optionParameters(schema: StructSchema): Parameter[] {
  const out: Parameter[] = []
  for (const f of schema.fields) {
    if (f.name === 'kind' || f.name === 'apiVersion') continue
    const type = parameterType(f.schema)
    if (type) out.push(query(f.name, type))
  }
  return out
}

function parameterType(schema: Schema): Parameter['type'] | undefined {
  if (schema.kind === 'list') return parameterType(schema.elem)
  if (schema.kind !== 'scalar') return undefined
  if (schema.scalar === 'bool') return 'boolean'
  if (schema.scalar === 'int32' || schema.scalar === 'int64') return 'integer'
  return schema.scalar === 'string' ? 'string' : undefined
}
