import { newInternalError } from '../apimachinery/errors.ts'
import type { KubeObject } from '../apimachinery/object.ts'
import { deepFreeze } from '../base/deep-freeze.ts'
import type { StoredObject } from './interface.ts'
import { GO_ORDER_BEFORE, labelsRange, metadataStart, skipValue, splicePoint } from './json-splice.ts'

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

/** Objects just written, and just decoded, that are kept for whoever comes next. */
const RECENT = 2048
const RECENT_BYTES = 4 * 1024 * 1024

/** What `bytes` were made from, for the newest writes: whoever hears of a write need not decode it. */
class Written {
  private readonly objects = new Map<Uint8Array, KubeObject>()
  private bytes = 0

  get(bytes: Uint8Array): KubeObject | undefined {
    return this.objects.get(bytes)
  }

  add(bytes: Uint8Array, object: KubeObject): void {
    this.objects.set(bytes, object)
    this.bytes += bytes.length
    if (this.objects.size <= RECENT && this.bytes <= RECENT_BYTES) return
    for (const old of this.objects.keys()) {
      if (this.objects.size <= RECENT && this.bytes <= RECENT_BYTES) break
      this.objects.delete(old)
      this.bytes -= old.length
    }
  }
}

const written = new Written()

/** Says what `bytes` were made from. The object must hold what decoding them would give and is never changed again. */
export function rememberWritten(bytes: Uint8Array, object: KubeObject): void {
  written.add(bytes, object)
}

/** Keeps the newest decoded objects alive; older ones live as long as somebody else holds them. */
class Decoded {
  private readonly objects: (KubeObject | undefined)[] = []
  private at = 0

  keep(object: KubeObject): void {
    this.objects[this.at] = object
    this.at = (this.at + 1) % RECENT
  }
}

const decoded = new Decoded()

/** Sets of labels by their JSON: objects that are labelled alike share one. */
class LabelSets {
  private readonly sets = new Map<string, Readonly<Record<string, string>>>()

  of(json: string): Readonly<Record<string, string>> {
    const known = this.sets.get(json)
    if (known) return known
    const labels = Object.freeze(JSON.parse(json)) as Record<string, string>
    if (this.sets.size >= LABEL_SETS) this.sets.clear()
    this.sets.set(json, labels)
    return labels
  }
}

const LABEL_SETS = 4096
const labelSets = new LabelSets()

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

/** A stored object: bytes once; everything else is made when somebody asks. The decoded form is one for all who hold it, and goes with the last of them. */
export class StoredJson implements StoredObject {
  readonly key: string
  readonly bytes: Uint8Array
  readonly resourceVersion: number
  /** Where the resourceVersion goes, with a comma after it: -1 not looked for yet, -2 the place is not so simple. */
  private spliceAt = -1
  /** Where the metadata ends; -1 not looked for yet. */
  private metadataEnd = -1
  private parsed: WeakRef<KubeObject> | undefined = undefined
  private labelSet: Readonly<Record<string, string>> | undefined = undefined

  constructor(key: string, bytes: Uint8Array, resourceVersion: number) {
    this.key = key
    this.bytes = bytes
    this.resourceVersion = resourceVersion
  }

  get object(): KubeObject {
    const known = this.parsed?.deref()
    if (known) return known
    const object = deepFreeze(this.decode())
    this.parsed = new WeakRef(object)
    decoded.keep(object)
    return object
  }

  get labels(): Readonly<Record<string, string>> {
    if (!this.labelSet) {
      const known = this.parsed?.deref()
      if (known) {
        this.labelSet = known.metadata.labels ?? NO_LABELS
        return this.labelSet
      }
      const range = labelsRange(this.bytes)
      this.labelSet = range ? labelSets.of(text(this.bytes.subarray(range[0], range[1]))) : NO_LABELS
    }
    return this.labelSet
  }

  private decode(): KubeObject {
    const made = written.get(this.bytes)
    if (made) return withResourceVersion(made, this.resourceVersion)
    try {
      return JSON.parse(text(this.encoded())) as KubeObject
    } catch (e) {
      throw newInternalError(new Error(`unable to decode the stored object ${JSON.stringify(this.key)}: ${e instanceof Error ? e.message : String(e)}`))
    }
  }

  encoded(): Uint8Array {
    return this.spliced(0)
  }

  line(): Uint8Array {
    const out = this.spliced(1)
    out[out.length - 1] = NEWLINE
    return out
  }

  /** How long `encoded()` is, without making it. */
  get size(): number {
    const point = this.plainPoint()
    return point < 0 ? this.encoded().length : this.bytes.length + RV_BYTES.length + digits(this.resourceVersion) + 2
  }

  writeTo(out: Uint8Array, at: number, skip = 0): number {
    const point = this.plainPoint()
    if (point < 0 || skip > point) {
      const encoded = this.encoded()
      out.set(skip === 0 ? encoded : encoded.subarray(skip), at)
      return at + encoded.length - skip
    }
    return this.copy(out, at, skip, this.bytes.length, point)
  }

  get metadataSize(): number {
    const [start, end] = this.metadata()
    const point = this.plainPoint()
    return point < 0 ? metadataOf(this.encoded()).length : end - start + RV_BYTES.length + digits(this.resourceVersion) + 2
  }

  writeMetadataTo(out: Uint8Array, at: number): number {
    const point = this.plainPoint()
    if (point >= 0) {
      const [start, end] = this.metadata()
      return this.copy(out, at, start, end, point)
    }
    const metadata = metadataOf(this.encoded())
    out.set(metadata, at)
    return at + metadata.length
  }

  /** The bytes [from, to) with the resourceVersion in between. */
  private copy(out: Uint8Array, at: number, from: number, to: number, point: number): number {
    const { bytes } = this
    out.set(bytes.subarray(from, point), at)
    let i = at + point - from
    for (let k = 0; k < RV_BYTES.length; k++) out[i++] = RV_BYTES[k] as number
    const text = String(this.resourceVersion)
    for (let k = 0; k < text.length; k++) out[i++] = text.charCodeAt(k)
    out[i++] = QUOTE
    out[i++] = COMMA
    out.set(bytes.subarray(point, to), i)
    return i + to - point
  }

  /** The index at which the resourceVersion goes in with a comma behind it; -2 when the place is not so simple. */
  private plainPoint(): number {
    if (this.spliceAt === -1) {
      const point = splicePoint(this.bytes)
      this.spliceAt = point && point.start === point.end && !point.commaBefore && point.commaAfter ? point.start : -2
    }
    return this.spliceAt
  }

  private metadata(): readonly [number, number] {
    const start = metadataStart(this.bytes)
    if (this.metadataEnd < 0) this.metadataEnd = skipValue(this.bytes, start)
    return [start, this.metadataEnd]
  }

  /** With so many bytes more at the end, left for the caller to fill. */
  private spliced(more: number): Uint8Array {
    const { bytes } = this
    if (this.plainPoint() >= 0) {
      const out = Buffer.allocUnsafe(this.size + more)
      this.writeTo(out, 0)
      return out
    }
    const point = splicePoint(bytes)
    if (!point) return more === 0 ? bytes : Buffer.concat([bytes], bytes.length + more)
    const insert = `${point.commaBefore ? ',' : ''}"resourceVersion":"${this.resourceVersion}"${point.commaAfter ? ',' : ''}`
    const out = Buffer.allocUnsafe(bytes.length - (point.end - point.start) + insert.length + more)
    out.set(bytes.subarray(0, point.start), 0)
    out.write(insert, point.start, 'latin1')
    out.set(bytes.subarray(point.end), point.start + insert.length)
    return out
  }

  /** The same state as of another revision: what a deletion leaves. */
  at(resourceVersion: number): StoredJson {
    return new StoredJson(this.key, this.bytes, resourceVersion)
  }
}

const NEWLINE = 10
const QUOTE = 0x22
const COMMA = 0x2c
const RV_BYTES = Buffer.from('"resourceVersion":"', 'latin1')

function digits(n: number): number {
  let count = 1
  for (let rest = n; rest >= 10; rest = Math.floor(rest / 10)) count++
  return count
}

function metadataOf(bytes: Uint8Array): Uint8Array {
  const start = metadataStart(bytes)
  return bytes.subarray(start, skipValue(bytes, start))
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}
