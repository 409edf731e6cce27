import type { DeleteOptions } from '../../apimachinery/meta/v1/types.generated.ts'
import type { GroupVersionKind, KubeObject } from '../../apimachinery/object.ts'
import type { StructSchema } from '../../apimachinery/schema/schema.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import type { FieldValidation } from '../request/write-options.ts'

/** What a body is expected to hold. */
export interface Expected {
  readonly gvk: GroupVersionKind
  readonly schema: () => StructSchema
  readonly custom: boolean
  /** See Endpoint.coerce. */
  readonly coerce?: (object: Record<string, unknown>) => string[]
}

export interface DecodedPatch {
  readonly value: unknown
  /** Strict errors of the patch itself; told together with those of the patched object. */
  readonly strictErrors: readonly string[]
}

/** Bodies to objects. */
export interface Codec {
  /** Loads what bodies of this type need; call before decoding one. */
  prepare(contentType: string | undefined): Promise<void> | undefined

  /**
   * Decodes a body into an object of the expected kind, defaults not filled. @throws StatusError 400, 415
   * @param warn receives what fieldValidation=Warn reports
   */
  decode(bytes: Uint8Array, contentType: string | undefined, expected: Expected, validation: FieldValidation, warn: (text: string) => void): KubeObject
  /** Brings a value handed over by an in-process caller, or made by a patch, into decoded form. @throws StatusError */
  fromValue(value: unknown, expected: Expected, validation: FieldValidation, warn: (text: string) => void): KubeObject
  /**
   * A patched value back into an object. @throws StatusError 422 where the value does not decode
   * @param how a JSON-shaped patch, or the strategic patch it came from, for the message
   */
  fromPatched(
    value: unknown,
    how: { kind: 'json' } | { kind: 'strategic'; patch: unknown },
    expected: Expected,
    validation: FieldValidation,
    warn: (text: string) => void,
    /** What strict reading has against the patch itself. */
    patchErrors?: readonly string[],
  ): KubeObject
  /** The body of a PATCH as a value. @throws StatusError 400 */
  patch(bytes: Uint8Array, type: string, expected: Expected, validation: FieldValidation, warn: (text: string) => void): DecodedPatch
  /** The body of a DELETE. @throws StatusError 400 */
  deleteOptions(bytes: Uint8Array, contentType: string | undefined): DeleteOptions
}

export function expectedOf(endpoint: Endpoint): Expected {
  let known = expectations.get(endpoint)
  if (!known) {
    const { bodySchema, coerce } = endpoint
    known = { gvk: endpoint.info, schema: () => (bodySchema ? bodySchema() : endpoint.info.schema()), custom: endpoint.custom, ...(coerce ? { coerce } : {}) }
    expectations.set(endpoint, known)
  }
  return known
}

const expectations = new WeakMap<Endpoint, Expected>()
