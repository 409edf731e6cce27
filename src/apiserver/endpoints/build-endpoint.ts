import type { ResourceInfo, Scheme } from '../../api/scheme.ts'
import { zeroStruct } from '../../apimachinery/json/index.ts'
import { apiVersionOf, groupResourceName, type KubeObject, parseApiVersion } from '../../apimachinery/object.ts'
import { ALL_TYPES } from '../negotiation/accept.ts'
import type { CreateHandler } from '../registry/create-handler.ts'
import { genericStatusStrategy } from '../registry/generic-strategy.ts'
import type { ResourceStore } from '../registry/resource-store.ts'
import type { KindRegistration } from '../registry/strategy.ts'
import { deprecationOf } from './deprecations.ts'
import type { ConnectHandler, CreateSubresource, Endpoint, SubresourceEndpoint, VirtualKind } from './endpoint.ts'

/** What is given from outside, by `resource.group` or `resource.group/subresource`. */
export interface EndpointParts {
  readonly registrations: ReadonlyMap<string, KindRegistration>
  readonly createHandlers: ReadonlyMap<string, CreateHandler>
  readonly connectHandlers: ReadonlyMap<string, ConnectHandler>
  readonly createSubresources: ReadonlyMap<string, CreateSubresource>
  readonly virtualKinds: ReadonlyMap<string, VirtualKind>
}

/** The endpoint of a built-in resource. */
export function buildEndpoint(scheme: Scheme, info: ResourceInfo, store: ResourceStore | undefined, parts: EndpointParts): Endpoint {
  const gr = { group: info.group, resource: info.resource }
  const key = groupResourceName(gr)
  const registration = parts.registrations.get(store ? groupResourceName({ group: store.info.group, resource: store.info.resource }) : key)
  const storageInfo = store?.info ?? info
  const converts = storageInfo.group !== info.group || storageInfo.version !== info.version
  const convert = registration?.convert
  const virtual = parts.virtualKinds.get(key) ?? virtualOf(parts.createHandlers.get(key))
  const apiVersion = apiVersionOf(info)
  const storageVersion = apiVersionOf(storageInfo)
  const relabel = (obj: KubeObject, to: ResourceInfo, version: string): KubeObject => {
    if (convert) return convert(obj, to)
    const { kind: _kind, apiVersion: _apiVersion, ...rest } = obj
    return { kind: to.kind, apiVersion: version, ...rest }
  }
  const deprecation = deprecationOf(info)
  return {
    info,
    storageInfo,
    gr,
    registration,
    ...(store ? { store } : {}),
    ...(virtual && !store ? { virtual } : {}),
    subresources: subresourcesOf(scheme, info, registration, key, parts),
    ...((registration?.columns ?? virtual?.columns) ? { columns: registration?.columns ?? virtual?.columns } : {}),
    mediaTypes: ALL_TYPES,
    custom: false,
    ...(deprecation ? { deprecation } : {}),
    head: Buffer.from(`{"kind":${JSON.stringify(info.kind)},"apiVersion":${JSON.stringify(apiVersion)},`),
    toStorage: converts ? (obj) => relabel(obj, storageInfo, storageVersion) : (obj) => obj,
    fromStorage: converts ? (obj) => relabel(obj, info, apiVersion) : (obj) => obj,
    converts,
    get zero() {
      return zeroOf(info)
    },
  }
}

const zeros = new WeakMap<ResourceInfo, Readonly<Record<string, unknown>>>()

/** What the kind prints when it is empty, beside its metadata. */
function zeroOf(info: ResourceInfo): Readonly<Record<string, unknown>> {
  let zero = zeros.get(info)
  if (!zero) {
    const { metadata: _metadata, kind: _kind, apiVersion: _apiVersion, ...rest } = zeroStruct(info.schema())
    zero = rest
    zeros.set(info, zero)
  }
  return zero
}

function virtualOf(handler: CreateHandler | undefined): VirtualKind | undefined {
  if (!handler) return undefined
  return {
    create: ({ context, namespace, object, dryRun }) =>
      handler.create(object, {
        user: context.user,
        namespace,
        name: '',
        dryRun,
        annotate: (k, v) => context.annotate(k, v),
        warn: (text) => context.warn(text),
      }),
  }
}

function subresourcesOf(
  _scheme: Scheme,
  info: ResourceInfo,
  registration: KindRegistration | undefined,
  key: string,
  parts: EndpointParts,
): ReadonlyMap<string, SubresourceEndpoint> {
  const out = new Map<string, SubresourceEndpoint>()
  for (const sub of info.subresources) {
    const gvk = { group: sub.group, version: sub.version, kind: sub.kind }
    const full = `${key}/${sub.name}`
    const connect = parts.connectHandlers.get(full)
    if (connect) {
      out.set(sub.name, { kind: 'connect', handler: connect, gvk, verbs: sub.verbs })
      continue
    }
    const create = parts.createSubresources.get(full) ?? subresourceOf(parts.createHandlers.get(full))
    if (create) {
      out.set(sub.name, { kind: 'create', handler: create, gvk, verbs: sub.verbs })
      continue
    }
    if (sub.name === 'scale' && sub.kind === 'Scale') {
      const fields = registration?.scale ?? SCALES[key]
      if (fields) out.set('scale', { kind: 'scale', fields, verbs: sub.verbs })
      continue
    }
    const strategy = sub.name === 'status' ? (registration?.status ?? genericStatusStrategy(info)) : registration?.subresources?.[sub.name]
    if (strategy) out.set(sub.name, { kind: 'object', strategy, verbs: sub.verbs })
  }
  return out
}

const REPLICAS = { specReplicasPath: 'spec.replicas', statusReplicasPath: 'status.replicas', labelSelectorPath: 'spec.selector' }

/** Scale of the built-in workloads. */
const SCALES: Readonly<Record<string, typeof REPLICAS>> = {
  replicationcontrollers: REPLICAS,
  'replicasets.apps': REPLICAS,
  'deployments.apps': REPLICAS,
  'statefulsets.apps': REPLICAS,
}

function subresourceOf(handler: CreateHandler | undefined): CreateSubresource | undefined {
  if (!handler) return undefined
  return {
    defaults: (object) => handler.defaults?.(object),
    create: async ({ context, namespace, name, object, dryRun, validate }) => {
      await validate(object)
      return handler.create(object, {
        user: context.user,
        namespace,
        name,
        dryRun,
        annotate: (k, v) => context.annotate(k, v),
        warn: (text) => context.warn(text),
      })
    },
  }
}

/** The info under which a resource's objects are stored. */
export function storageInfoOf(scheme: Scheme, info: ResourceInfo): ResourceInfo | undefined {
  if (info.storageVersion === undefined || info.etcdPrefix === undefined) return undefined
  const gv = parseApiVersion(info.storageVersion)
  if (!gv) return undefined
  // Stored versions are written without the group of legacy kinds; a bare version means the same group where that exists.
  return (
    scheme.forResource({ ...gv, resource: info.resource }) ?? scheme.forResource({ group: info.group, version: gv.version, resource: info.resource }) ?? info
  )
}
