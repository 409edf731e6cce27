import type { ListMeta, ObjectMeta } from './meta/v1/types.generated.ts'

/** Any API object in its decoded form (see schema/schema.ts for what "decoded" guarantees). */
export interface KubeObject {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
}

/** An object of a kind nobody knows at compile time. */
export interface Unstructured extends KubeObject {
  [field: string]: unknown
}

export interface KubeList<T extends KubeObject = KubeObject> {
  apiVersion?: string
  kind?: string
  metadata: ListMeta
  items: T[]
}

export interface GroupVersion {
  group: string
  version: string
}

export interface GroupVersionKind extends GroupVersion {
  kind: string
}

export interface GroupVersionResource extends GroupVersion {
  resource: string
}

export interface GroupResource {
  group: string
  resource: string
}

/** `v1`, `apps/v1`. */
export function apiVersionOf(gv: GroupVersion): string {
  return gv.group === '' ? gv.version : `${gv.group}/${gv.version}`
}

/** Parses `v1` or `apps/v1`; undefined for anything with more than one slash. */
export function parseApiVersion(text: string): GroupVersion | undefined {
  if (text === '' || text === '/') return { group: '', version: '' }
  const parts = text.split('/')
  if (parts.length === 1) return { group: '', version: parts[0] as string }
  if (parts.length === 2) return { group: parts[0] as string, version: parts[1] as string }
  return undefined
}

/** `pods`, `deployments.apps`: how messages name a resource. */
export function groupResourceName(gr: GroupResource): string {
  return gr.group === '' ? gr.resource : `${gr.resource}.${gr.group}`
}

/** `Pod`, `Deployment.apps`: how messages name a kind. */
export function groupKindName(gk: { group: string; kind: string }): string {
  return gk.group === '' ? gk.kind : `${gk.kind}.${gk.group}`
}

/** `namespace/name`, or `name` for cluster-scoped objects: the key of informers and work queues. */
export function objectKey(obj: KubeObject): string {
  const { namespace, name } = obj.metadata
  return namespace ? `${namespace}/${name}` : (name ?? '')
}

export function splitKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/')
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/** A resource with the TypeScript type of its objects; the built-in ones are in api's `resources`. */
export interface ResourceHandle<T extends KubeObject = KubeObject> extends GroupVersionResource {
  readonly kind: string
  readonly namespaced: boolean
  /** Type witness only; never set. */
  readonly _type?: T
}
