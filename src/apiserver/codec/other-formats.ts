import type { Scheme } from '../../api/scheme.ts'
import type { StatusError } from '../../apimachinery/errors.ts'
import { DecodeError, type TypeMeta } from '../../apimachinery/json/index.ts'
import { apiVersionOf } from '../../apimachinery/object.ts'
import { decodeUnknown, ProtobufError, readEnvelope, type Unknown } from '../../apimachinery/protobuf/index.ts'
import type { Expected } from './codec.ts'

type Parser = typeof import('../../apimachinery/yaml/parser.ts')

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** YAML bodies as values; the parser is loaded when first needed. */
export class YAMLBodies {
  private parser: Parser | undefined

  async load(): Promise<void> {
    this.parser ??= await import('../../apimachinery/yaml/parser.ts')
  }

  /** The value, and what strict reading has against it. */
  parse(bytes: Uint8Array, refuse: (message: string) => StatusError): { value: unknown; formatErrors: readonly string[]; strictText: string } {
    const parser = this.parser
    if (!parser) throw new Error('the YAML parser is not loaded')
    try {
      const { value, duplicates } = parser.parseDocument(utf8.decode(bytes))
      return { value, formatErrors: duplicates, strictText: `yaml: unmarshal errors:\n${duplicates.map((d) => `  ${d}`).join('\n')}` }
    } catch (error) {
      if (error instanceof parser.YAMLError) throw refuse(error.message)
      throw error
    }
  }
}

/** A protobuf body as an object. */
export function decodeProtobufBody(
  bytes: Uint8Array,
  scheme: Scheme,
  expected: Expected,
  refuse: (message: string) => StatusError,
  unfit: (meta: TypeMeta, message: string) => StatusError,
): { object: Record<string, unknown>; meta: TypeMeta } {
  let envelope: Unknown
  try {
    envelope = readEnvelope(bytes)
  } catch (error) {
    if (error instanceof ProtobufError) throw refuse(error.message)
    throw error
  }
  const meta = { apiVersion: envelope.apiVersion || apiVersionOf(expected.gvk), kind: envelope.kind || expected.gvk.kind }
  const schema =
    meta.kind === expected.gvk.kind && meta.apiVersion === apiVersionOf(expected.gvk) ? expected.schema() : scheme.schemaOf(meta.apiVersion, meta.kind)
  if (!schema)
    throw unfit(
      meta,
      `no kind ${JSON.stringify(meta.kind)} is registered for version ${JSON.stringify(meta.apiVersion)} in scheme "pkg/api/legacyscheme/scheme.go:30"`,
    )
  try {
    return { object: decodeUnknown(envelope, schema), meta }
  } catch (error) {
    if (error instanceof ProtobufError || error instanceof DecodeError) throw unfit(meta, error.message)
    throw error
  }
}
