import type { Scheme } from '../../api/scheme.ts'
import { encodeJSON, encodeJSONPretty } from '../../apimachinery/json/index.ts'
import { parseApiVersion } from '../../apimachinery/object.ts'
import { encodeProtobuf, encodeWatchFrame } from '../../apimachinery/protobuf/index.ts'
import type { StructSchema } from '../../apimachinery/schema/schema.ts'
import { printYAML } from '../../apimachinery/yaml/print.ts'
import { JSON_TYPE, type MediaType, YAML_TYPE } from './accept.ts'

interface TypedValue {
  apiVersion?: string
  kind?: string
}

/** Values to bytes, in the media types of the API. */
export class Encoder {
  private readonly scheme: Scheme

  constructor(scheme: Scheme) {
    this.scheme = scheme
  }

  /** One object as an answer's body: compact JSON ends with a newline, indented does not. */
  encode(value: unknown, mediaType: MediaType, pretty: boolean): Uint8Array {
    if (mediaType === JSON_TYPE) return Buffer.from(pretty ? encodeJSONPretty(value) : `${encodeJSON(value)}\n`, 'utf8')
    if (mediaType === YAML_TYPE) return Buffer.from(printYAML(value), 'utf8')
    return encodeProtobuf(value as Record<string, unknown>, this.schemaOf(value as TypedValue))
  }

  /** One event of a protobuf watch, with its length in front. */
  watchFrame(type: string, object: unknown): Uint8Array {
    return encodeWatchFrame(type, object as Record<string, unknown>, this.schemaOf(object as TypedValue))
  }

  private schemaOf(value: TypedValue): StructSchema {
    const gv = parseApiVersion(value.apiVersion ?? '')
    const schema = gv && this.scheme.schema({ ...gv, kind: value.kind ?? '' })
    if (!schema) throw new Error(`no protobuf form of ${value.apiVersion} ${value.kind}`)
    return schema
  }
}
