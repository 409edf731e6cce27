import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '../api/apiextensions/v1/types.generated.ts'
import type { ResourceInfo, Scheme } from '../api/scheme.ts'
import { newBadRequest, newForbidden, newInvalid, StatusError } from '../apimachinery/errors.ts'
import * as field from '../apimachinery/field.ts'
import { type ErrorList, FieldPath } from '../apimachinery/field.ts'
import type { GroupVersionKind, KubeObject } from '../apimachinery/object.ts'
import { quote } from '../apimachinery/quote.ts'
import type { StructSchema } from '../apimachinery/schema/schema.ts'
import { buildEndpoint } from '../apiserver/endpoints/build-endpoint.ts'
import type { Endpoint } from '../apiserver/endpoints/endpoint.ts'
import { TEXT_TYPES } from '../apiserver/negotiation/accept.ts'
import type { ResourceStore } from '../apiserver/registry/resource-store.ts'
import type { KindRegistration, Strategy, SubresourceStrategy } from '../apiserver/registry/strategy.ts'
import { deepCopy, deepEqual } from '../base/deep-freeze.ts'
import { CoerceError, coerce, pruneTo } from './coerce.ts'
import { customColumns } from './columns.ts'
import { parseJsonPath } from './json-path.ts'
import { bodySchema, customSchema, type Props } from './structural.ts'
import { validateEmbedded, validateLists, validateValue } from './validate-value.ts'

type Json = Record<string, unknown>
type Version = CustomResourceDefinitionVersion

const VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']

/** Rules written in an expression language, checked after the schema; a seam for the room that knows the language. */
export type RuleValidator = (object: KubeObject, old: KubeObject | undefined, schema: Props) => ErrorList

export interface CustomKindOptions {
  readonly scheme: Scheme
  readonly definition: CustomResourceDefinition
  /** Looked up on every create: whether the definition is going away. */
  isTerminating(): boolean
  readonly validateRules?: RuleValidator
}

export function schemaOfVersion(version: Version): Props | undefined {
  return version.schema?.openAPIV3Schema
}

export function storageVersionOf(definition: CustomResourceDefinition): Version | undefined {
  return definition.spec.versions?.find((v) => v.storage)
}

/** One version of a custom resource as the server knows resources. */
export function customInfo(scheme: Scheme, definition: CustomResourceDefinition, version: Version): ResourceInfo {
  const { spec, status } = definition
  const names = status?.acceptedNames?.kind ? status.acceptedNames : spec.names
  const { group } = spec
  const storage = storageVersionOf(definition)
  let schema: StructSchema | undefined
  return {
    group,
    version: version.name,
    kind: names.kind,
    resource: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    namespaced: spec.scope === 'Namespaced',
    verbs: VERBS,
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    storageVersion: `${group}/${storage?.name ?? version.name}`,
    etcdPrefix: `/registry/${group}/${names.plural}`,
    subresources: [
      ...(version.subresources?.status ? [{ name: 'status', kind: names.kind, group, version: version.name, verbs: ['get', 'patch', 'update'] }] : []),
      ...(version.subresources?.scale ? [{ name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: ['get', 'patch', 'update'] }] : []),
    ],
    isDefault: true,
    openAPISchema: () => schemaOfVersion(version) as Json | undefined,
    schema() {
      schema ??= customSchema(schemaOfVersion(version), `${group}/${version.name}, Kind=${names.kind}`, objectMetaOf(scheme))
      return schema
    },
  }
}

function objectMetaOf(scheme: Scheme): StructSchema {
  return scheme.types.structType('k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta')
}

const dotted = (path: string) => path.replace(/^\./, '')

/** How objects of a custom kind are written, in the version that is stored. */
export function customRegistration(options: CustomKindOptions): KindRegistration {
  const { definition } = options
  const version = storageVersionOf(definition) as Version
  const { group, names } = definition.spec
  const kind = names.kind
  const props = schemaOfVersion(version)
  const hasStatus = version.subresources?.status !== undefined
  const scale = version.subresources?.scale
  const fields = (version.selectableFields ?? []).map((f) => ({ label: dotted(f.jsonPath), path: parseJsonPath(f.jsonPath) }))

  const validate = (object: KubeObject, old?: KubeObject): ErrorList => {
    const errors: ErrorList = []
    if (object.kind !== kind) errors.push(field.invalid(FieldPath.root('kind'), object.kind ?? '', `must be ${kind}`))
    if (errors.length > 0) throw newInvalid({ group, kind: object.kind ?? '' }, object.metadata.name ?? '', errors)
    if (props) {
      const found = [...validateValue(object, props, undefined)]
      errors.push(...(old ? ratchet(found, object, old) : found))
      if (errors.length === 0) errors.push(...validateLists(object, props, undefined), ...validateEmbedded(object, props, undefined))
    }
    if (scale) {
      const replicas = parseJsonPath(scale.specReplicasPath)?.(object)[0]
      if (typeof replicas === 'number' && (replicas < 0 || replicas >= 2 ** 31)) {
        errors.push(field.invalid(FieldPath.root(scale.specReplicasPath), replicas, 'should be a non-negative integer'))
      }
    }
    if (props && options.validateRules) errors.push(...options.validateRules(object, old, props))
    return errors
  }

  /** An object as the definition of today reads it. */
  const today = (object: KubeObject): KubeObject => {
    if (!props || (definition.metadata.generation ?? 1) < 2) return object
    const copy = deepCopy(object)
    coerce(copy as unknown as Json, props)
    return copy
  }

  const strategy: Strategy = {
    allowCreateOnUpdate: false,
    allowUnconditionalUpdate: false,
    generation: 'none',
    statusOnMain: 'keep',
    returnDeletedObject: false,
    prepareForCreate(object) {
      if (options.isTerminating()) {
        throw newForbidden({ group, resource: names.plural }, object.metadata.name ?? '', 'create not allowed while custom resource definition is terminating')
      }
      object.metadata.generation = 1
      if (definition.spec.versions.length > 1) pruneTo(object as unknown as Json, props)
      if (hasStatus) delete (object as unknown as Json)['status']
    },
    prepareForUpdate(object, old) {
      if (definition.spec.versions.length > 1) pruneTo(object as unknown as Json, props)
      if (hasStatus) keepField(object, old, 'status')
      if (contentDiffers(object, today(old), hasStatus)) object.metadata.generation = (old.metadata.generation ?? 0) + 1
    },
    validate: (object) => validate(object),
    warningsOnCreate: finalizerWarnings,
    warningsOnUpdate: (object, old) => finalizerWarnings(object).filter((w) => !finalizerWarnings(old).includes(w)),
    validateUpdate: (object, old) => validate(object, old),
    ...(fields.length
      ? {
          selectableFields: (object: KubeObject) => Object.fromEntries(fields.map(({ label, path }) => [label, textOf(path?.(object)[0])])),
          selectableFieldLabels: fields.map((f) => f.label),
        }
      : {}),
  }
  const status: SubresourceStrategy = {
    prepareForUpdate(object, old) {
      const mine = object as unknown as Json
      for (const key of new Set([...Object.keys(mine), ...Object.keys(old)])) if (key !== 'status' && key !== 'metadata') keepField(object, old, key)
      keepMetadata(object, old)
    },
    validateUpdate: (object, old) => validate(object, old),
  }
  return {
    group,
    resource: names.plural,
    storage: { group, version: version.name, kind },
    strategy,
    ...(hasStatus ? { status } : {}),
    columns: customColumns(version.additionalPrinterColumns),
    ...(scale
      ? {
          scale: {
            specReplicasPath: dotted(scale.specReplicasPath),
            statusReplicasPath: dotted(scale.statusReplicasPath),
            ...(scale.labelSelectorPath ? { labelSelectorPath: dotted(scale.labelSelectorPath) } : {}),
          },
        }
      : {}),
  }
}

/** Finalizers without a domain may meet another's. */
function finalizerWarnings(object: KubeObject): string[] {
  return (object.metadata.finalizers ?? [])
    .filter((f) => !f.includes('/'))
    .map((f) => `metadata.finalizers: ${quote(f)}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers`)
}

/** Whether anything but metadata, and status where it is written on its own, is another. */
function contentDiffers(object: KubeObject, old: KubeObject, hasStatus: boolean): boolean {
  const content = (o: KubeObject) => {
    const { metadata: _, apiVersion: _v, kind: _k, ...rest } = o as unknown as Json
    if (hasStatus) delete rest['status']
    return rest
  }
  return !deepEqual(content(object), content(old))
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? '' : String(value)
}

function keepField(object: KubeObject, old: KubeObject, name: string): void {
  const to = object as unknown as Json
  const from = old as unknown as Json
  if (from[name] === undefined) delete to[name]
  else to[name] = from[name]
}

/** Metadata stays as it was, but for what every write brings; the object itself is the caller's, so it is changed in place. */
export function keepMetadata(object: KubeObject, old: KubeObject): void {
  const to = object.metadata as unknown as Json
  const from = old.metadata as unknown as Json
  for (const key of Object.keys(to)) if (key !== 'managedFields' && key !== 'resourceVersion') delete to[key]
  for (const key of Object.keys(from)) if (key !== 'managedFields' && key !== 'resourceVersion') to[key] = deepCopy(from[key])
}

/** Complaints about values that were there before and did not change are let pass. */
function ratchet(errors: ErrorList, object: KubeObject, old: KubeObject): ErrorList {
  return errors.filter((e) => {
    const path = parseJsonPath(`.${e.field}`)
    if (!path || e.field === '<nil>') return true
    const now = path(object)
    const before = path(old)
    if (now.length === 0) return !deepEqual(parent(object, e.field), parent(old, e.field))
    return !(before.length > 0 && deepEqual(now[0], before[0]))
  })
}

function parent(object: KubeObject, at: string): unknown {
  const dot = at.lastIndexOf('.')
  return dot < 0 ? object : parseJsonPath(`.${at.slice(0, dot)}`)?.(object)[0]
}

/** The endpoint of one served version. */
export function customEndpoint(
  scheme: Scheme,
  definition: CustomResourceDefinition,
  version: Version,
  store: ResourceStore,
  registration: KindRegistration,
): Endpoint {
  const info = customInfo(scheme, definition, version)
  const key = `${info.resource}.${info.group}`
  const parts = {
    registrations: new Map([[key, registration]]),
    createHandlers: new Map(),
    connectHandlers: new Map(),
    createSubresources: new Map(),
    virtualKinds: new Map(),
  }
  const endpoint = buildEndpoint(scheme, info, store, parts)
  const storage = storageVersionOf(definition) as Version
  // Objects stored under an earlier form of the definition are brought to today's when read.
  const converts = endpoint.converts || (definition.metadata.generation ?? 1) > 1
  const relabel = (object: KubeObject, to: GroupVersionKind, target: Version): KubeObject => {
    const stored = object.apiVersion?.split('/')[1] ?? ''
    if (!definition.spec.versions.some((v) => v.name === stored)) {
      throw new StatusError({ code: 500, reason: '', message: `request to convert CR from an invalid group/version: ${object.apiVersion}` })
    }
    const copy = { ...object, apiVersion: `${to.group}/${to.version}` }
    if (schemaOfVersion(target) === undefined) return copy
    const fresh = deepCopy(copy) as unknown as Json
    if (target === storage) coerce(fresh, schemaOfVersion(target))
    else {
      // Defaults are those of the stored version.
      if ((definition.metadata.generation ?? 1) > 1) coerce(fresh, schemaOfVersion(storage))
      pruneTo(fresh, schemaOfVersion(target))
    }
    return fresh as unknown as KubeObject
  }
  const body = bodySchema(info.kind, objectMetaOf(scheme))
  const warning = version.deprecated ? (version.deprecationWarning ?? deprecationOf(definition, version)) : undefined
  return {
    info: endpoint.info,
    storageInfo: endpoint.storageInfo,
    gr: endpoint.gr,
    registration,
    store,
    subresources: endpoint.subresources,
    columns: customColumns(version.additionalPrinterColumns),
    mediaTypes: TEXT_TYPES,
    custom: true,
    ...(warning === undefined ? {} : { deprecation: warning }),
    head: endpoint.head,
    converts,
    zero: {},
    // What the stored version does not know goes when the object is prepared, after its owners were told.
    toStorage: endpoint.converts ? (o) => ({ ...o, apiVersion: `${store.info.group}/${store.info.version}` }) : (o) => o,
    fromStorage: converts ? (o) => relabel(o, info, version) : (o) => o,
    bodySchema: () => body,
    coerce: (object) => {
      try {
        return coerce(object, schemaOfVersion(version), objectMetaOf(scheme))
      } catch (error) {
        if (!(error instanceof CoerceError)) throw error
        throw newBadRequest(`${info.kind} in version ${quote(info.version)} cannot be handled as a ${info.kind}: ${error.message}`)
      }
    },
  }
}

function deprecationOf(definition: CustomResourceDefinition, version: Version): string {
  const { group, names } = definition.spec
  const newer = sortVersions(definition.spec.versions.filter((v) => v.served && !v.deprecated).map((v) => v.name))[0]
  const head = `${group}/${version.name} ${names.kind} is deprecated`
  return newer === undefined ? head : `${head}; use ${group}/${newer} ${names.kind}`
}

/** Versions by upstream's priority: v2, v1, v1beta2, v1alpha1, then anything else by name. */
export function sortVersions(names: readonly string[]): string[] {
  const parse = (name: string) => {
    const m = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(name)
    return m && { major: Number(m[1]), stage: m[2] === undefined ? 2 : m[2] === 'beta' ? 1 : 0, minor: Number(m[3] ?? 0) }
  }
  return [...names].sort((a, b) => {
    const x = parse(a)
    const y = parse(b)
    if (!x || !y) return x ? -1 : y ? 1 : a < b ? -1 : 1
    return y.stage - x.stage || y.major - x.major || y.minor - x.minor
  })
}
