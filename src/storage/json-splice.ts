/**
 * Finds its way in the bytes of an object's JSON without parsing it: where `metadata` is, where `resourceVersion` belongs in it, and
 * where `labels` are. Works on any valid JSON; -1 stands for "not there".
 */
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN = 0x7b
const CLOSE = 0x7d
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const COLON = 0x3a
const COMMA = 0x2c

export interface SplicePoint {
  /** Bytes [start, end) are replaced by `"resourceVersion":"N"` and, as `before`/`after` say, a comma. */
  readonly start: number
  readonly end: number
  readonly commaBefore: boolean
  readonly commaAfter: boolean
}

function skipSpace(b: Uint8Array, at: number): number {
  let i = at
  while (i < b.length && (b[i] === 0x20 || b[i] === 0x0a || b[i] === 0x0d || b[i] === 0x09)) i++
  return i
}

/** @param at the opening quote @returns the index after the closing one */
function skipString(b: Uint8Array, at: number): number {
  let i = at + 1
  while (i < b.length) {
    const c = b[i]
    if (c === BACKSLASH) i += 2
    else if (c === QUOTE) return i + 1
    else i++
  }
  throw new SyntaxError('unterminated string in stored JSON')
}

/** @param at the first byte of a value @returns the index after its last */
export function skipValue(b: Uint8Array, at: number): number {
  const first = b[at]
  if (first === QUOTE) return skipString(b, at)
  if (first !== OPEN && first !== OPEN_LIST) {
    let i = at
    while (i < b.length && b[i] !== COMMA && b[i] !== CLOSE && b[i] !== CLOSE_LIST && (b[i] as number) > 0x20) i++
    return i
  }
  let depth = 0
  for (let i = at; i < b.length; ) {
    const c = b[i]
    if (c === QUOTE) {
      i = skipString(b, i)
      continue
    }
    i++
    if (c === OPEN || c === OPEN_LIST) depth++
    else if ((c === CLOSE || c === CLOSE_LIST) && --depth === 0) return i
  }
  throw new SyntaxError('unterminated value in stored JSON')
}

function nameIs(b: Uint8Array, start: number, end: number, name: string): boolean {
  if (end - start !== name.length + 2) return false
  for (let i = 0; i < name.length; i++) if (b[start + 1 + i] !== name.charCodeAt(i)) return false
  return true
}

/** Calls `visit` for each member of the object that opens at `at`; stops when it returns true. Returns the index of the closing brace, or -1 when stopped. */
function members(b: Uint8Array, at: number, visit: (keyStart: number, keyEnd: number, valueStart: number) => number): number {
  let i = skipSpace(b, at + 1)
  while (i < b.length && b[i] !== CLOSE) {
    if (b[i] !== QUOTE) throw new SyntaxError('stored bytes are not a JSON object')
    const keyStart = i
    const keyEnd = skipString(b, i)
    i = skipSpace(b, keyEnd)
    if (b[i] !== COLON) throw new SyntaxError('stored bytes are not a JSON object')
    const valueStart = skipSpace(b, i + 1)
    const next = visit(keyStart, keyEnd, valueStart)
    if (next < 0) return -1
    i = skipSpace(b, next)
    if (b[i] === COMMA) i = skipSpace(b, i + 1)
  }
  return i
}

/** The index of the brace that opens the top-level `metadata`. */
export function metadataStart(b: Uint8Array): number {
  const top = skipSpace(b, 0)
  if (b[top] !== OPEN) throw new SyntaxError('stored bytes are not a JSON object')
  let found = -1
  members(b, top, (keyStart, keyEnd, valueStart) => {
    if (!nameIs(b, keyStart, keyEnd, 'metadata') || b[valueStart] !== OPEN) return skipValue(b, valueStart)
    found = valueStart
    return -1
  })
  return found
}

/** Fields of metadata that come before resourceVersion in Go's order. */
export const GO_ORDER_BEFORE: readonly string[] = ['name', 'generateName', 'namespace', 'selfLink', 'uid']

/** Where the resourceVersion goes; undefined when there is no metadata. In typed objects it follows the uid, in objects with sorted keys it is sorted in. */
export function splicePoint(b: Uint8Array): SplicePoint | undefined {
  const open = metadataStart(b)
  if (open < 0) return undefined
  let goOrder: boolean | undefined
  let insertAt = -1
  let isFirst = false
  let existing: SplicePoint | undefined
  let count = 0
  const end = members(b, open, (keyStart, keyEnd, valueStart) => {
    goOrder ??= GO_ORDER_BEFORE.some((name) => nameIs(b, keyStart, keyEnd, name))
    if (nameIs(b, keyStart, keyEnd, 'resourceVersion')) {
      existing = { start: keyStart, end: skipValue(b, valueStart), commaBefore: false, commaAfter: false }
      return -1
    }
    if (insertAt < 0) {
      const goesAfter = goOrder
        ? !GO_ORDER_BEFORE.some((name) => nameIs(b, keyStart, keyEnd, name))
        : nameIs(b, keyStart, keyEnd, 'selfLink') || nameIs(b, keyStart, keyEnd, 'uid')
      if (goesAfter) {
        insertAt = keyStart
        isFirst = count === 0
        // In Go's order it would have come before this one.
        if (goOrder) return -1
      }
    }
    count++
    return skipValue(b, valueStart)
  })
  if (existing) return existing
  if (insertAt >= 0) return { start: insertAt, end: insertAt, commaBefore: false, commaAfter: true }
  // At the end: behind the last member, before the brace.
  return { start: end, end, commaBefore: count > 0, commaAfter: isFirst }
}

/** The bytes [start, end) of `metadata.labels`, or undefined. */
export function labelsRange(b: Uint8Array): [number, number] | undefined {
  const open = metadataStart(b)
  if (open < 0) return undefined
  let found: [number, number] | undefined
  members(b, open, (keyStart, keyEnd, valueStart) => {
    if (!nameIs(b, keyStart, keyEnd, 'labels')) return skipValue(b, valueStart)
    if (b[valueStart] === OPEN) found = [valueStart, skipValue(b, valueStart)]
    return -1
  })
  return found
}
