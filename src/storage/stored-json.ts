import { newInternalError } from '../apimachinery/errors.ts'
import type { KubeObject } from '../apimachinery/object.ts'
import { deepFreeze } from '../base/deep-freeze.ts'
import type { StoredObject } from './interface.ts'
import { GO_ORDER_BEFORE, labelsRange, splicePoint } from './json-splice.ts'

const NO_LABELS: Readonly<Record<string, string>> = Object.freeze({})
const HTML = /[<>&\u2028\u2029]/
const HTML_ALL = /[<>&\u2028\u2029]/g

/** The JSON an object is stored as: without resourceVersion and selfLink, escaped the way Go does. */
export function encodeObject(object: KubeObject): Buffer {
  const { resourceVersion, selfLink } = object.metadata
  const text = JSON.stringify(
    resourceVersion === undefined && selfLink === undefined
      ? object
      : { ...object, metadata: { ...object.metadata, resourceVersion: undefined, selfLink: undefined } },
  )
  if (!HTML.test(text)) return ownBytes(text)
  return ownBytes(text.replace(HTML_ALL, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`))
}

/**
 * The objects that were just written, by their bytes: whoever hears of the write need not decode them. An entry lives as long as the
 * bytes are in memory.
 */
const written = new WeakMap<Uint8Array, KubeObject>()

/** Says what `bytes` were made from. The object must hold what decoding them would give and is never changed again. */
export function rememberWritten(bytes: Uint8Array, object: KubeObject): void {
  written.set(bytes, object)
}

/** With the revision it was stored at, where `splicePoint` puts it. */
function withResourceVersion(object: KubeObject, resourceVersion: number): KubeObject {
  const metadata: Record<string, unknown> = {}
  const before = object.metadata as unknown as Record<string, unknown>
  let goOrder: boolean | undefined
  let placed = false
  for (const name in before) {
    if (name === 'resourceVersion' || name === 'selfLink') continue
    goOrder ??= GO_ORDER_BEFORE.includes(name)
    if (!placed && (goOrder ? !GO_ORDER_BEFORE.includes(name) : name === 'uid')) {
      metadata.resourceVersion = String(resourceVersion)
      placed = true
    }
    metadata[name] = before[name]
  }
  if (!placed) metadata.resourceVersion = String(resourceVersion)
  return { ...object, metadata } as KubeObject
}

/** Memory of their own: a slice of the common pool would keep all that passing requests took from it, for as long as the object lives. */
function ownBytes(text: string): Buffer {
  const out = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  out.write(text, 0, 'utf8')
  return out
}

/** A stored object: bytes once; everything else is made when somebody asks. */
export class StoredJson implements StoredObject {
  readonly key: string
  readonly bytes: Uint8Array
  readonly resourceVersion: number
  /** Where the resourceVersion goes, with a comma after it: -1 not looked for yet, -2 the place is not so simple. */
  private spliceAt = -1
  private parsed: KubeObject | undefined = undefined
  private labelMap: Readonly<Record<string, string>> | undefined = undefined

  constructor(key: string, bytes: Uint8Array, resourceVersion: number) {
    this.key = key
    this.bytes = bytes
    this.resourceVersion = resourceVersion
  }

  get object(): KubeObject {
    if (!this.parsed) {
      const made = written.get(this.bytes)
      if (made) {
        this.parsed = deepFreeze(withResourceVersion(made, this.resourceVersion))
        return this.parsed
      }
      try {
        this.parsed = deepFreeze(JSON.parse(text(this.encoded()))) as KubeObject
      } catch (e) {
        throw newInternalError(new Error(`unable to decode the stored object ${JSON.stringify(this.key)}: ${e instanceof Error ? e.message : String(e)}`))
      }
    }
    return this.parsed
  }

  get labels(): Readonly<Record<string, string>> {
    if (this.parsed) return this.parsed.metadata.labels ?? NO_LABELS
    if (!this.labelMap) {
      const range = labelsRange(this.bytes)
      this.labelMap = range ? (Object.freeze(JSON.parse(text(this.bytes.subarray(range[0], range[1])))) as Record<string, string>) : NO_LABELS
    }
    return this.labelMap
  }

  encoded(): Uint8Array {
    return this.spliced(0)
  }

  line(): Uint8Array {
    const out = this.spliced(1)
    out[out.length - 1] = NEWLINE
    return out
  }

  /** With so many bytes more at the end, left for the caller to fill. */
  private spliced(more: number): Uint8Array {
    const { bytes } = this
    let start = this.spliceAt
    let end = start
    let before = ''
    let after = ','
    if (start < 0) {
      const point = splicePoint(bytes)
      if (!point) return more === 0 ? bytes : Buffer.concat([bytes], bytes.length + more)
      start = point.start
      end = point.end
      before = point.commaBefore ? ',' : ''
      after = point.commaAfter ? ',' : ''
      this.spliceAt = start === end && before === '' && after === ',' ? start : -2
    }
    const insert = `${before}"resourceVersion":"${this.resourceVersion}"${after}`
    const out = Buffer.allocUnsafe(bytes.length - (end - start) + insert.length + more)
    out.set(bytes.subarray(0, start), 0)
    out.write(insert, start, 'latin1')
    out.set(bytes.subarray(end), start + insert.length)
    return out
  }

  /** The same state as of another revision: what a deletion leaves. */
  at(resourceVersion: number): StoredJson {
    return new StoredJson(this.key, this.bytes, resourceVersion)
  }
}

const NEWLINE = 10

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}
