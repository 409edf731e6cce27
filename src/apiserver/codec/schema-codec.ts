import type { Scheme } from '../../api/scheme.ts'
import { newBadRequest, newInvalid, newUnsupportedMediaType, type StatusError } from '../../apimachinery/errors.ts'
import { FieldPath, invalid } from '../../apimachinery/field.ts'
import { bodySummary, canonicalize, DecodeError, encodeJSON, JSONBody, JSONSyntaxError, type TypeMeta, typeMetaOf } from '../../apimachinery/json/index.ts'
import type { DeleteOptions } from '../../apimachinery/meta/v1/types.generated.ts'
import { apiVersionOf, type KubeObject, parseApiVersion } from '../../apimachinery/object.ts'
import { goFormat, restoreError } from '../../apimachinery/patch/index.ts'
import { quote } from '../../apimachinery/quote.ts'
import type { FieldSchema, Schema, StructSchema } from '../../apimachinery/schema/schema.ts'
import { deepCopy, setOwn } from '../../base/deep-freeze.ts'
import { ALL_TYPES, JSON_TYPE, PROTOBUF_TYPE, YAML_TYPE } from '../negotiation/accept.ts'
import type { FieldValidation } from '../request/write-options.ts'
import type { Codec, DecodedPatch, Expected } from './codec.ts'
import { bodyTypeOf } from './content-type.ts'
import { decodeProtobufBody, YAMLBodies } from './other-formats.ts'

const SCHEME_NAME = 'pkg/api/legacyscheme/scheme.go:30'
const OPTIONS_SCHEME_NAME = 'k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27'

const REMOVED_VERSIONS = new Set([
  'apps/v1beta1',
  'apps/v1beta2',
  'extensions/v1beta1',
  'batch/v1beta1',
  'policy/v1beta1',
  'autoscaling/v2beta1',
  'autoscaling/v2beta2',
])

type Warn = (text: string) => void

/** A parsed body, whatever its format. */
interface Parsed {
  value: unknown
  meta: TypeMeta
  decode(schema: StructSchema, strict: boolean): { object: Record<string, unknown>; strictErrors: string[] }
  /** Strict errors of the format itself, such as repeated keys of YAML. */
  formatErrors: readonly string[]
  /** The same as one text. */
  strictText?: string
}

/** Decodes by the kinds' schemas. */
export class SchemaCodec implements Codec {
  private readonly scheme: Scheme
  private readonly yaml = new YAMLBodies()

  constructor(scheme: Scheme) {
    this.scheme = scheme
  }

  prepare(contentType: string | undefined): Promise<void> | undefined {
    if (contentType === undefined || contentType === JSON_TYPE || !contentType.includes('yaml')) return undefined
    return this.yaml.load()
  }

  decode(bytes: Uint8Array, contentType: string | undefined, expected: Expected, validation: FieldValidation, warn: Warn): KubeObject {
    const type = bodyTypeOf(contentType)
    const parsed = this.parse(bytes, type, expected)
    const meta = { ...parsed.meta }
    if (!expected.custom) {
      if (meta.kind === '') meta.kind = expected.gvk.kind
      if (meta.apiVersion === '') meta.apiVersion = apiVersionOf(expected.gvk)
    } else this.requireTypeMeta(parsed, bytes, expected)
    const schema = this.schemaFor(meta, expected)
    return finish(this.convert(parsed, schema, meta, expected, validation, warn), meta, parsed.value)
  }

  fromValue(value: unknown, expected: Expected, validation: FieldValidation, warn: Warn): KubeObject {
    let meta: TypeMeta
    try {
      meta = typeMetaOf(value)
    } catch (error) {
      throw newBadRequest((error as Error).message)
    }
    if (meta.kind === '') meta = { ...meta, kind: expected.gvk.kind }
    if (meta.apiVersion === '') meta = { ...meta, apiVersion: apiVersionOf(expected.gvk) }
    const parsed: Parsed = {
      value,
      meta,
      formatErrors: [],
      decode: (schema, strict) => canonicalize(ownCopy(value, expected), schema, { strict }),
    }
    return finish(this.convert(parsed, this.schemaFor(meta, expected), meta, expected, validation, warn), meta, value)
  }

  fromPatched(
    value: unknown,
    how: { kind: 'json' } | { kind: 'strategic'; patch: unknown },
    expected: Expected,
    validation: FieldValidation,
    warn: Warn,
    patchErrors: readonly string[] = [],
  ): KubeObject {
    const refuse = (detail: string): StatusError =>
      newInvalid({ group: '', kind: '' }, '', [
        invalid(FieldPath.root('patch'), how.kind === 'json' ? encodeJSON(expected.custom ? sorted(value) : value) : goFormat(how.patch), detail),
      ])
    let meta: TypeMeta
    try {
      meta = typeMetaOf(value)
    } catch (error) {
      throw refuse((error as Error).message)
    }
    if (!expected.custom) meta = { kind: meta.kind || expected.gvk.kind, apiVersion: meta.apiVersion || apiVersionOf(expected.gvk) }
    if (meta.kind === '') throw refuse(`Object 'Kind' is missing in '${encodeJSON(value)}'`)
    // The kind of custom resources is judged by validation.
    if ((meta.kind !== expected.gvk.kind && !expected.custom) || meta.apiVersion !== apiVersionOf(expected.gvk)) {
      const schema = this.scheme.schemaOf(meta.apiVersion, meta.kind)
      if (!schema) throw refuse(notRegistered(meta))
      throw refuse(`unable to decode ${meta.apiVersion}, Kind=${meta.kind} into ${goVersionedName(expected)}`)
    }
    if (how.kind === 'strategic') {
      const misfit = restoreError(value, expected.schema())
      if (misfit !== undefined) throw refuse(misfit)
    }
    try {
      const decoded = canonicalize(ownCopy(value, expected), expected.schema(), { strict: validation !== 'Ignore' })
      decoded.strictErrors.push(...unknownFields(expected, decoded.object))
      // Strategic patches are merged as maps: what is unknown is told in the order of its text.
      if (how.kind === 'strategic') decoded.strictErrors.sort()
      if (validation !== 'Ignore') {
        const errors = [...patchErrors, ...decoded.strictErrors]
        if (validation === 'Strict' && errors.length > 0) throw refuse(`strict decoding error: ${listErrors(errors)}`)
        for (const text of errors) warn(text)
      }
      return finish(decoded.object, meta, value)
    } catch (error) {
      if (error instanceof DecodeError) throw refuse(error.message)
      throw error
    }
  }

  patch(bytes: Uint8Array, type: string, expected: Expected, validation: FieldValidation, warn: Warn): DecodedPatch {
    if (type === 'application/apply-patch+yaml') {
      const parsed = this.yaml.parse(bytes, (message) => newBadRequest(`error decoding YAML: error converting YAML to JSON: ${message}`))
      if (parsed.formatErrors.length > 0) {
        if (validation === 'Strict') throw newBadRequest(`error strict decoding YAML: error converting YAML to JSON: ${parsed.strictText}`)
        if (validation === 'Warn') for (const text of parsed.formatErrors) warn(text)
      }
      return { value: parsed.value, strictErrors: [] }
    }
    try {
      const body = JSONBody.parse(bytes)
      if (validation === 'Ignore' || type === 'application/strategic-merge-patch+json') return { value: body.value, strictErrors: [] }
      return {
        value: body.value,
        strictErrors: type === 'application/merge-patch+json' ? duplicatesOf(body, expected) : jsonPatchErrors(body),
      }
    } catch (error) {
      if (!(error instanceof JSONSyntaxError)) throw error
      if (type === 'application/strategic-merge-patch+json') {
        throw newBadRequest(error.message === 'unexpected end of JSON input' ? error.message : 'invalid JSON document')
      }
      throw newBadRequest(`error decoding patch: ${error.message}`)
    }
  }

  deleteOptions(bytes: Uint8Array, contentType: string | undefined): DeleteOptions {
    const gvk = { group: 'meta.k8s.io', version: 'v1', kind: 'DeleteOptions' }
    const schema = this.scheme.schema({ group: '', version: 'v1', kind: 'DeleteOptions' }) as StructSchema
    const expected: Expected = { gvk, schema: () => schema, custom: false }
    const parsed = this.parse(bytes, bodyTypeOf(contentType), expected, newBadRequest)
    const { kind, apiVersion } = parsed.meta
    // Any version of DeleteOptions will do.
    if (kind !== '' && kind !== 'DeleteOptions') throw newBadRequest(notRegistered({ kind, apiVersion }, OPTIONS_SCHEME_NAME))
    try {
      return parsed.decode(schema, false).object as unknown as DeleteOptions
    } catch (error) {
      if (error instanceof DecodeError) throw newBadRequest(error.message)
      throw error
    }
  }

  private parse(bytes: Uint8Array, type: string | undefined, expected: Expected, refuse?: (message: string) => StatusError): Parsed {
    const unrecognized = (message: string) =>
      refuse?.(message) ?? newBadRequest(`the object provided is unrecognized (must be of type ${expected.gvk.kind}): ${message} (${bodySummary(bytes)})`)
    if (type === PROTOBUF_TYPE) {
      if (expected.custom)
        throw newUnsupportedMediaType(`the body of the request was in an unknown format - accepted media types include: ${ALL_TYPES.join(', ')}`)
      const decoded = decodeProtobufBody(bytes, this.scheme, expected, unrecognized, (meta, message) => this.unfit(meta, expected, message))
      return { value: decoded.object, meta: decoded.meta, formatErrors: [], decode: () => ({ object: decoded.object, strictErrors: [] }) }
    }
    if (type === YAML_TYPE) {
      const yaml = this.yaml.parse(bytes, unrecognized)
      const { value } = yaml
      return {
        value,
        meta: this.metaOf(() => typeMetaOf(value), unrecognized),
        formatErrors: yaml.formatErrors,
        ...(yaml.formatErrors.length ? { strictText: yaml.strictText } : {}),
        decode: (schema, strict) => canonicalize(value, schema, { strict }),
      }
    }
    if (type !== JSON_TYPE)
      throw newUnsupportedMediaType(`the body of the request was in an unknown format - accepted media types include: ${ALL_TYPES.join(', ')}`)
    let body: JSONBody
    try {
      body = JSONBody.parse(bytes)
    } catch (error) {
      if (!(error instanceof JSONSyntaxError)) throw error
      throw unrecognized(`couldn't get version/kind; json parse error: ${error.message}`)
    }
    return {
      value: body.value,
      meta: this.metaOf(() => body.typeMeta(), unrecognized),
      formatErrors: [],
      decode: (schema, strict) => body.decode(schema, { strict }),
    }
  }

  private metaOf(read: () => TypeMeta, unrecognized: (message: string) => StatusError): TypeMeta {
    try {
      const meta = read()
      if (parseApiVersion(meta.apiVersion) === undefined) throw unrecognized(`unexpected GroupVersion string: ${meta.apiVersion}`)
      return meta
    } catch (error) {
      if (error instanceof DecodeError) throw unrecognized(`couldn't get version/kind; json parse error: ${error.message}`)
      throw error
    }
  }

  /** The schema of what the body says it is. */
  private schemaFor(meta: TypeMeta, expected: Expected): StructSchema {
    if (fits(meta, expected)) return expected.schema()
    if (expected.custom) return expected.schema()
    const schema = this.scheme.schemaOf(meta.apiVersion, meta.kind)
    if (schema) return schema
    if (meta.kind === 'List' && meta.apiVersion === 'v1') this.requireKind(meta, expected)
    // Versions that are no longer served are still known by name.
    if (meta.kind === expected.gvk.kind && REMOVED_VERSIONS.has(meta.apiVersion)) throw wrongVersion(meta.apiVersion, apiVersionOf(expected.gvk))
    throw this.unfit(meta, expected, notRegistered(meta))
  }

  private convert(parsed: Parsed, schema: StructSchema, meta: TypeMeta, expected: Expected, validation: FieldValidation, warn: Warn): Record<string, unknown> {
    let decoded: { object: Record<string, unknown>; strictErrors: string[] }
    try {
      decoded = parsed.decode(schema, validation !== 'Ignore')
    } catch (error) {
      if (error instanceof DecodeError) throw this.unfit(meta, expected, error.message)
      throw error
    }
    decoded.strictErrors.push(...unknownFields(expected, decoded.object))
    if (validation !== 'Ignore') {
      const errors =
        validation === 'Strict' && parsed.strictText !== undefined
          ? [parsed.strictText, ...decoded.strictErrors]
          : [...parsed.formatErrors, ...decoded.strictErrors]
      if (errors.length > 0) {
        if (validation === 'Strict') throw this.unfit(meta, expected, `strict decoding error: ${listErrors(errors)}`)
        this.requireKind(meta, expected)
        for (const text of errors.slice(0, 100)) warn(text)
      }
    }
    this.requireKind(meta, expected)
    return decoded.object
  }

  private unfit(meta: TypeMeta, expected: Expected, text: string): StatusError {
    // Custom resources' metadata is decoded on its own.
    const message = expected.custom ? text.replace('struct field ObjectMeta.metadata.', 'struct field ObjectMeta.') : text
    return newBadRequest(`${meta.kind} in version ${quote(versionOf(meta.apiVersion))} cannot be handled as a ${expected.gvk.kind}: ${message}`)
  }

  private requireKind(meta: TypeMeta, expected: Expected): void {
    const want = apiVersionOf(expected.gvk)
    if (fits(meta, expected)) return
    if (expected.custom) {
      if (meta.apiVersion !== want) throw wrongVersion(meta.apiVersion, want)
      return
    }
    if (meta.kind !== expected.gvk.kind) {
      throw this.unfit(meta, expected, `converting (${goShortName(meta)}) to (${goInternalName(expected)}): unknown conversion`)
    }
    throw wrongVersion(meta.apiVersion, want)
  }

  private requireTypeMeta(parsed: Parsed, bytes: Uint8Array, expected: Expected): void {
    const missing = parsed.meta.kind === '' ? 'Kind' : undefined
    if (missing) {
      throw newBadRequest(
        `the object provided is unrecognized (must be of type ${expected.gvk.kind}): Object '${missing}' is missing in '${encodeJSON(parsed.value)}' (${bodySummary(bytes)})`,
      )
    }
    if (parsed.meta.apiVersion === '') throw wrongVersion('', apiVersionOf(expected.gvk))
  }
}

/** Custom resources are maps inside, which print sorted. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  const out: Record<string, unknown> = {}
  for (const key of Object.keys(value).sort()) setOwn(out, key, sorted((value as Record<string, unknown>)[key]))
  return out
}

/** Coercing writes to what was decoded, which may share parts without schema with its source. */
function ownCopy(value: unknown, expected: Expected): unknown {
  return expected.coerce ? deepCopy(value) : value
}

function unknownFields(expected: Expected, object: Record<string, unknown>): string[] {
  return (expected.coerce?.(object) ?? []).map((path) => `unknown field ${quote(path)}`)
}

/** Fields a merge patch names twice; what it says of unknown ones shows in the patched object. */
function duplicatesOf(body: JSONBody, expected: Expected): string[] {
  try {
    return body.decode(expected.schema(), { strict: true }).strictErrors.filter((e) => e.startsWith('duplicate field '))
  } catch (error) {
    if (error instanceof DecodeError) return []
    throw error
  }
}

const OPERATION: StructSchema = structOf('JSONPatchOperation', {
  op: { kind: 'scalar', scalar: 'string' },
  path: { kind: 'scalar', scalar: 'string' },
  from: { kind: 'scalar', scalar: 'string' },
  value: { kind: 'any', any: 'json' },
})
const OPERATIONS: StructSchema = structOf('JSONPatch', { p: { kind: 'list', elem: OPERATION } })

function structOf(name: string, fields: Record<string, Schema>): StructSchema {
  const list: FieldSchema[] = Object.entries(fields).map(([field, schema]) => ({ name: field, schema, pointer: false, omitempty: true }))
  return { kind: 'struct', name, fields: list, byName: new Map(list.map((f) => [f.name, f])), proto: [] }
}

/** Unknown and repeated fields of the operations of a JSON patch. */
function jsonPatchErrors(body: JSONBody): string[] {
  if (!Array.isArray(body.value)) return []
  try {
    const { strictErrors } = JSONBody.parse(`{"p":${body.text}}`).decode(OPERATIONS, { strict: true })
    return strictErrors.map((e) => `json patch ${e.replace('field "p', 'field "')}`)
  } catch (error) {
    if (error instanceof DecodeError) return []
    throw error
  }
}

/** Whether the body is what the endpoint takes. Evictions come in the version before as well, as older clients send them. */
function fits(meta: TypeMeta, { gvk }: Expected): boolean {
  if (meta.kind !== gvk.kind) return false
  return meta.apiVersion === apiVersionOf(gvk) || (gvk.kind === 'Eviction' && gvk.group === 'policy' && meta.apiVersion === 'policy/v1beta1')
}

function wrongVersion(has: string, want: string): StatusError {
  return newBadRequest(`the API version in the data (${has}) does not match the expected API version (${want})`)
}

function notRegistered(meta: TypeMeta, schemeName = SCHEME_NAME): string {
  return `no kind ${quote(meta.kind)} is registered for version ${quote(meta.apiVersion)} in scheme ${quote(schemeName)}`
}

function versionOf(apiVersion: string): string {
  return parseApiVersion(apiVersion)?.version ?? apiVersion
}

/** `v1.Service`. */
function goShortName(meta: TypeMeta): string {
  return `${versionOf(meta.apiVersion)}.${meta.kind}`
}

function goVersionedName(expected: Expected): string {
  return `${expected.gvk.version}.${expected.gvk.kind}`
}

/** `core.Pod`. */
function goInternalName(expected: Expected): string {
  const group = expected.gvk.group
  return `${group === '' ? 'core' : (group.split('.')[0] as string)}.${expected.gvk.kind}`
}

function listErrors(errors: readonly string[]): string {
  return [...new Set(errors)].slice(0, 100).join(', ')
}

/** kind and apiVersion first, as everything that is sent and stored has them. */
function finish(object: Record<string, unknown>, meta: TypeMeta, source: unknown): KubeObject {
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = object
  const finished = { kind: meta.kind, apiVersion: meta.apiVersion, ...rest } as unknown as KubeObject
  // An empty list is a wish of its own: it resets ownership.
  const entries = (source as KubeObject | null)?.metadata?.managedFields
  if (Array.isArray(entries) && (entries.length === 0 || (entries.length === 1 && entries[0] && Object.keys(entries[0]).length === 0)) && finished.metadata) {
    finished.metadata.managedFields = entries.map((e) => ({ ...e }))
  }
  return finished
}
