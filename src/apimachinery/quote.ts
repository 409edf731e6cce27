/** Go's %q: a double-quoted string with Go's escapes; messages are compared by clients, so the form matters. */
export function quote(s: string): string {
  let out = '"'
  for (const ch of s) {
    const c = ch.codePointAt(0) as number
    if (ch === '"' || ch === '\\') out += `\\${ch}`
    else if (c >= 0x20 && c < 0x7f) out += ch
    else if (ch === '\n') out += '\\n'
    else if (ch === '\t') out += '\\t'
    else if (ch === '\r') out += '\\r'
    else if (c === 7) out += '\\a'
    else if (c === 8) out += '\\b'
    else if (c === 11) out += '\\v'
    else if (c === 12) out += '\\f'
    else if (c < 0x20 || c === 0x7f) out += `\\x${c.toString(16).padStart(2, '0')}`
    else if (c >= 0xa0 && c !== 0xad && c !== 0xfffd && /[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(ch)) out += ch
    else if (c < 0x10000) out += `\\u${c.toString(16).padStart(4, '0')}`
    else out += `\\U${c.toString(16).padStart(8, '0')}`
  }
  return `${out}"`
}
