/** Texts that several rules share. */

/** Bytes of `s` in UTF-8: limits on names and values count bytes, not UTF-16 units. */
export function byteLength(s: string): number {
  let n = s.length
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i)
    if (c < 0x80) continue
    if (c < 0x800) n += 1
    else if (c >= 0xd800 && c < 0xdc00 && i + 1 < s.length) {
      n += 2
      i++
    } else n += 2
  }
  return n
}

/** Whether `s` has more than `max` bytes; cheap for the usual short ASCII text. */
export function longerThan(s: string, max: number): boolean {
  if (s.length > max) return true
  if (s.length * 3 <= max) return false
  return byteLength(s) > max
}

/** How a rule with a regular expression words its refusal. */
export function regexMessage(message: string, regex: string, ...examples: string[]): string {
  if (examples.length === 0) return `${message} (regex used for validation is '${regex}')`
  return `${message} (e.g. ${examples.map((e) => `'${e}', `).join(' or ')}regex used for validation is '${regex}')`
}

export const maxCharacters = (max: number): string => `must be no more than ${max} characters`
export const maxBytes = (max: number): string => `must be no more than ${max} bytes`
export const EMPTY_TEXT = 'must be non-empty'
export const inclusiveRange = (low: number, high: number): string => `must be between ${low} and ${high}, inclusive`
export const NON_NEGATIVE = 'must be greater than or equal to 0'
export const IMMUTABLE = 'field is immutable'
