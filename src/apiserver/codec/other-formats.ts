import type { Scheme } from '../../api/scheme.ts'
import type { StatusError } from '../../apimachinery/errors.ts'
import { newBadRequest } from '../../apimachinery/errors.ts'
import { JSONBody, JSONSyntaxError, type TypeMeta } from '../../apimachinery/json/index.ts'
import type { Expected } from './codec.ts'

/** A YAML body as a value, with what strict reading has against it. */
export function parseYAMLBody(bytes: Uint8Array, refuse: (message: string) => StatusError): { value: unknown; formatErrors: string[]; strictText: string } {
  try {
    return { value: JSONBody.parse(bytes).value, formatErrors: [], strictText: '' }
  } catch (error) {
    if (error instanceof JSONSyntaxError) throw refuse(error.message)
    throw error
  }
}

export function decodeProtobufBody(
  _bytes: Uint8Array,
  _scheme: Scheme,
  expected: Expected,
  _refuse: (message: string) => StatusError,
): { object: Record<string, unknown>; meta: TypeMeta } {
  throw newBadRequest(`cannot read protobuf of ${expected.gvk.kind}`)
}
