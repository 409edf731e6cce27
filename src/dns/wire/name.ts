/**
 * Domain names in presentation form (RFC 1035, 5.1): absolute, with a trailing dot, `.` for the root. A dot or backslash inside a label
 * is escaped by a backslash, and a byte that is no printable ASCII is `\DDD`. The case of letters is kept.
 */

/** @throws RangeError for what is no name */
export class NameError extends RangeError {
  override readonly name = 'NameError'
}

const MAX_WIRE = 255
const MAX_LABEL = 63

/** The labels of a name, still escaped, from the left; none for the root. */
export function labelsOf(name: string): string[] {
  if (name === '.' || name === '') return []
  if (!name.includes('\\')) return (name.endsWith('.') ? name.slice(0, -1) : name).split('.')
  const out: string[] = []
  let label = ''
  for (let i = 0; i < name.length; i++) {
    const c = name[i] as string
    if (c === '\\') {
      const escaped = /^\d{3}/.test(name.slice(i + 1)) ? name.slice(i, i + 4) : name.slice(i, i + 2)
      label += escaped
      i += escaped.length - 1
    } else if (c === '.') {
      out.push(label)
      label = ''
    } else label += c
  }
  if (label !== '') out.push(label)
  return out
}

/** An absolute form of a name that may lack the last dot. */
export function absolute(name: string): string {
  if (name === '') return '.'
  if (!name.endsWith('.')) return `${name}.`
  // The last dot may be an escaped one.
  const slashes = /\\*(?=\.$)/.exec(name)?.[0].length ?? 0
  return slashes % 2 === 1 ? `${name}.` : name
}

/** Names are compared without regard to case (RFC 4343), ASCII letters only. */
export function canonical(name: string): string {
  return absolute(name).replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/** Whether a canonical name is the zone or lies below it. */
export function isWithin(name: string, zone: string): boolean {
  return zone === '.' || name === zone || (name.endsWith(`.${zone}`) && !/(?:^|[^\\])(?:\\\\)*\\$/.test(name.slice(0, -zone.length - 1)))
}

/** The bytes of one label. @throws NameError */
export function labelBytes(label: string): number[] {
  const bytes: number[] = []
  for (let i = 0; i < label.length; i++) {
    let code = label.charCodeAt(i)
    if (code === 0x5c) {
      const digits = /^\d{3}/.exec(label.slice(i + 1))?.[0]
      if (digits !== undefined) {
        code = Number(digits)
        i += 3
      } else if (i + 1 < label.length) code = label.charCodeAt(++i)
      else throw new NameError('a name ends in a backslash')
    }
    if (code > 255) throw new NameError('a name has a character that is no byte')
    bytes.push(code)
  }
  if (bytes.length === 0) throw new NameError('a name has an empty label')
  if (bytes.length > MAX_LABEL) throw new NameError('a label is longer than 63 bytes')
  return bytes
}

/** The presentation of one label. */
export function labelText(bytes: Uint8Array): string {
  let text = ''
  for (const b of bytes) {
    if (b === 0x2e || b === 0x5c) text += `\\${String.fromCharCode(b)}`
    else if (b <= 0x20 || b >= 0x7f) text += `\\${String(b).padStart(3, '0')}`
    else text += String.fromCharCode(b)
  }
  return text
}

/** Length on the wire without compression. @throws NameError */
export function wireLength(labels: readonly string[]): number {
  let length = 1
  for (const label of labels) length += 1 + labelBytes(label).length
  if (length > MAX_WIRE) throw new NameError('a name is longer than 255 bytes')
  return length
}
