import { deepCopy, deepEqual, setOwn } from '../../base/deep-freeze.ts'
import { newBadRequest, newRequestEntityTooLarge, StatusError } from '../errors.ts'
import { isMap, type JsonMap, jsonTypeName } from './values.ts'

export const MAX_JSON_PATCH_OPERATIONS = 10_000
/** What all `copy` operations of one patch may add up to, in bytes of JSON: without it a small patch doubles the document at every step. */
export const MAX_COPIED_BYTES = 3 * 1024 * 1024

/** 422 with the generic text; the reason stays inside as `cause`. */
function unprocessable(cause: string): StatusError {
  return new StatusError({ code: 422, reason: 'Invalid', message: 'the server rejected our request due to an error in our request', details: {}, cause })
}

/**
 * Applies a JSON patch (RFC 6902, with upstream's liberties: a path's first segment is ignored up to the first slash, negative
 * indexes count from the end, `replace`, `copy` and `test` see an absent key of an object as null).
 *
 * @param doc a JSON value; never changed, the result may share parts with it
 * @param patch the decoded patch: an array of operations, or null for none
 * @throws StatusError 400 for a patch that is no array of objects, 413 for too many operations, 422 when an operation fails
 */
export function applyJSONPatch(doc: unknown, patch: unknown): unknown {
  if (patch === null) return doc
  if (!Array.isArray(patch))
    throw newBadRequest(`error decoding patch: json: cannot unmarshal ${jsonTypeName(patch)} into Go value of type []handlers.jsonPatchOp`)
  for (const op of patch) {
    if (op !== null && !isMap(op)) {
      throw newBadRequest(`error decoding patch: json: cannot unmarshal ${jsonTypeName(op)} into Go value of type handlers.jsonPatchOp`)
    }
  }
  if (patch.length > MAX_JSON_PATCH_OPERATIONS) {
    throw newRequestEntityTooLarge(`The allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}, got ${patch.length}`)
  }
  if (patch.length === 0) return doc
  const work = new Work(doc)
  for (const op of patch) work.run(op === null ? {} : (op as JsonMap))
  return work.root
}

type Container = JsonMap | unknown[]

/** The document while it is patched: containers on visited paths are copied once, on first visit. */
class Work {
  root: unknown
  private readonly ours = new Set<unknown>()
  private copied = 0

  constructor(doc: unknown) {
    if (!isMap(doc) && !Array.isArray(doc)) throw unprocessable('document is no object and no array')
    this.root = this.adopt(doc)
  }

  run(op: JsonMap): void {
    switch (text(op, 'op')) {
      case 'add':
        this.add(text(op, 'path'), value(op))
        break
      case 'remove':
        this.remove(text(op, 'path'))
        break
      case 'replace':
        this.replace(text(op, 'path'), value(op))
        break
      case 'move': {
        const from = text(op, 'from')
        const { container, key } = this.find(from)
        const moved = get(container, key)
        remove(container, key)
        this.add(text(op, 'path'), moved)
        break
      }
      case 'copy': {
        const { container, key } = this.find(text(op, 'from'))
        const source = get(container, key)
        const path = text(op, 'path')
        const target = this.find(path)
        if (source !== null) this.copied += utf8Length(JSON.stringify(source))
        if (this.copied > MAX_COPIED_BYTES) throw unprocessable('copies are larger than the limit')
        add(target.container, target.key, deepCopy(source))
        break
      }
      case 'test':
        this.test(text(op, 'path'), Object.hasOwn(op, 'value') ? op['value'] : undefined)
        break
      default:
        throw unprocessable('unexpected kind of operation')
    }
  }

  private add(path: string, val: unknown): void {
    const { container, key } = this.find(path)
    add(container, key, val)
  }

  private remove(path: string): void {
    const { container, key } = this.find(path)
    remove(container, key)
  }

  private replace(path: string, val: unknown): void {
    if (path === '') {
      if (isMap(val) || Array.isArray(val)) this.root = this.adopt(val)
      return
    }
    const { container, key } = this.find(path)
    get(container, key)
    if (Array.isArray(container)) container[indexOf(container, key)] = val
    else setOwn(container, key, val)
  }

  private test(path: string, expected: unknown): void {
    const { container, key } = this.find(path)
    const actual = get(container, key)
    if (actual === null ? expected !== null && expected !== undefined : !deepEqual(actual, expected)) throw unprocessable('test failed')
  }

  /** The container of the path's last segment. */
  private find(path: string): { container: Container; key: string } {
    const parts = path.split('/')
    if (parts.length < 2) throw unprocessable('path has no segment')
    let container = this.root as Container
    for (let i = 1; i < parts.length - 1; i++) {
      const key = unescapeSegment(parts[i] as string)
      const next = get(container, key)
      if (!isMap(next) && !Array.isArray(next)) throw unprocessable('path is missing')
      if (this.ours.has(next)) {
        container = next
        continue
      }
      const mine = this.adopt(next)
      if (Array.isArray(container)) container[indexOf(container, key)] = mine
      else setOwn(container, key, mine)
      container = mine
    }
    return { container, key: unescapeSegment(parts[parts.length - 1] as string) }
  }

  /** A copy of our own, one level deep; objects get their keys sorted, as the patched text in messages shows them. */
  private adopt(value: Container): Container {
    let mine: Container
    if (Array.isArray(value)) mine = [...value]
    else {
      mine = {}
      for (const key of Object.keys(value).sort()) setOwn(mine, key, value[key])
    }
    this.ours.add(mine)
    return mine
  }
}

/** A string member of an operation; absent, null and other types are failures of the operation. */
function text(op: JsonMap, name: string): string {
  const found = Object.hasOwn(op, name) ? op[name] : undefined
  if (typeof found !== 'string') throw unprocessable(`operation has no ${name}`)
  return found
}

function value(op: JsonMap): unknown {
  return Object.hasOwn(op, 'value') ? op['value'] : null
}

function unescapeSegment(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Decimal as Go's Atoi reads it: a sign and leading zeros are fine. */
function atoi(key: string): number {
  if (!/^[+-]?\d+$/.test(key)) throw unprocessable('index is no number')
  return Number(key)
}

function indexOf(list: unknown[], key: string): number {
  let index = atoi(key)
  if (index < 0) {
    if (index < -list.length) throw unprocessable('index out of range')
    index += list.length
  }
  if (index >= list.length) throw unprocessable('index out of range')
  return index
}

function get(container: Container, key: string): unknown {
  if (Array.isArray(container)) return container[indexOf(container, key)] ?? null
  return Object.hasOwn(container, key) ? (container[key] ?? null) : null
}

function add(container: Container, key: string, val: unknown): void {
  if (!Array.isArray(container)) {
    setOwn(container, key, val)
    return
  }
  if (key === '-') {
    container.push(val)
    return
  }
  const size = container.length + 1
  let index = atoi(key)
  if (index >= size || index < -size) throw unprocessable('index out of range')
  if (index < 0) index += size
  container.splice(index, 0, val)
}

function remove(container: Container, key: string): void {
  if (Array.isArray(container)) {
    container.splice(indexOf(container, key), 1)
    return
  }
  if (!Object.hasOwn(container, key)) throw unprocessable('key is missing')
  delete container[key]
}

/** Bytes of a string in UTF-8. */
function utf8Length(s: string): number {
  let bytes = s.length
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i)
    if (c >= 0x800) bytes += c >= 0xd800 && c < 0xe000 ? 1 : 2
    else if (c >= 0x80) bytes++
  }
  return bytes
}
