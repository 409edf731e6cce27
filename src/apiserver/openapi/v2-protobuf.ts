/**
 * The OpenAPI 2 document in the protobuf form that Go clients ask for (package openapi.v2): what clients read of it, which is the head and
 * the definitions; operations stay in the JSON form.
 */
export const SWAGGER_PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

type Json = Record<string, unknown>

/** Grows as messages are written; lengths are known before their content is copied. */
class Message {
  private readonly parts: Uint8Array[] = []
  size = 0

  private push(bytes: Uint8Array): this {
    this.parts.push(bytes)
    this.size += bytes.length
    return this
  }

  bytes(field: number, value: Uint8Array): this {
    this.push(varint((field << 3) | 2))
    this.push(varint(value.length))
    return this.push(value)
  }

  text(field: number, value: unknown): this {
    return typeof value === 'string' && value !== '' ? this.bytes(field, Buffer.from(value, 'utf8')) : this
  }

  message(field: number, value: Message): this {
    this.push(varint((field << 3) | 2))
    this.push(varint(value.size))
    for (const part of value.parts) this.push(part)
    return this
  }

  flag(field: number, value: unknown): this {
    return value === true ? this.push(varint(field << 3)).push(varint(1)) : this
  }

  integer(field: number, value: unknown): this {
    return typeof value === 'number' && Number.isInteger(value) && value > 0 ? this.push(varint(field << 3)).push(varint(value)) : this
  }

  double(field: number, value: unknown): this {
    if (typeof value !== 'number') return this
    const bytes = Buffer.allocUnsafe(8)
    bytes.writeDoubleLE(value)
    return this.push(varint((field << 3) | 1)).push(bytes)
  }

  finish(): Uint8Array {
    return Buffer.concat(this.parts, this.size)
  }
}

function varint(value: number): Uint8Array {
  const out: number[] = []
  let rest = value
  while (rest > 127) {
    out.push((rest % 128) | 128)
    rest = Math.floor(rest / 128)
  }
  out.push(rest)
  return Uint8Array.from(out)
}

/** @param swaggerText the document as JSON text */
export function swaggerProtobuf(swaggerText: string): Uint8Array {
  const document = JSON.parse(swaggerText) as { swagger: string; info: Json; definitions?: Record<string, Json> }
  const info = new Message().text(1, document.info.title).text(2, document.info.version).text(3, document.info.description)
  const definitions = new Message()
  for (const [name, schema] of Object.entries(document.definitions ?? {})) definitions.message(1, named(name, schemaMessage(schema)))
  return new Message().text(1, document.swagger).message(2, info).message(8, new Message()).message(9, definitions).finish()
}

function named(name: string, value: Message): Message {
  return new Message().text(1, name).message(2, value)
}

/** A value of any form, as YAML text; JSON is YAML. */
function any(value: unknown): Message {
  return new Message().text(2, `${JSON.stringify(value)}\n`)
}

function schemaMessage(schema: Json): Message {
  const out = new Message().text(1, schema.$ref).text(2, schema.format).text(3, schema.title).text(4, schema.description)
  if (schema.default !== undefined) out.message(5, any(schema.default))
  out.double(7, schema.maximum).flag(8, schema.exclusiveMaximum).double(9, schema.minimum).flag(10, schema.exclusiveMinimum)
  out.integer(11, schema.maxLength).integer(12, schema.minLength).text(13, schema.pattern).integer(14, schema.maxItems).integer(15, schema.minItems)
  out.flag(16, schema.uniqueItems)
  for (const name of list(schema.required)) out.text(19, name)
  for (const value of list(schema.enum)) out.message(20, any(value))
  const additional = schema.additionalProperties
  if (typeof additional === 'boolean') out.message(21, new Message().flag(2, additional))
  else if (additional !== undefined) out.message(21, new Message().message(1, schemaMessage(additional as Json)))
  if (schema.type !== undefined) {
    const types = new Message()
    for (const type of Array.isArray(schema.type) ? schema.type : [schema.type]) types.text(1, type)
    out.message(22, types)
  }
  if (schema.items !== undefined) out.message(23, new Message().message(1, schemaMessage(schema.items as Json)))
  for (const part of list(schema.allOf)) out.message(24, schemaMessage(part as Json))
  if (schema.properties !== undefined) {
    const properties = new Message()
    for (const [name, property] of Object.entries(schema.properties as Record<string, Json>)) properties.message(1, named(name, schemaMessage(property)))
    out.message(25, properties)
  }
  for (const key of Object.keys(schema)) if (key.startsWith('x-')) out.message(31, named(key, any(schema[key])))
  return out
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
