const UNSAFE = /[<>&\u2028\u2029]/g
const HAS_UNSAFE = /[<>&\u2028\u2029]/

/** JSON as Go's encoder writes it: characters that HTML or JavaScript treat specially are escaped. No newline at the end. */
export function encodeJSON(object: unknown): string {
  const text = JSON.stringify(object)
  return HAS_UNSAFE.test(text) ? text.replace(UNSAFE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`) : text
}

/** Like `encodeJSON`, indented by two spaces for people. */
export function encodeJSONPretty(object: unknown): string {
  const text = JSON.stringify(object, null, 2)
  return HAS_UNSAFE.test(text) ? text.replace(UNSAFE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`) : text
}

/** How messages quote a body that could not be understood: text up to 30 bytes when it starts like an object, else hex. */
export function bodySummary(body: Uint8Array): string {
  if (body.length === 0) return '<empty>'
  const cut = body.subarray(0, 30)
  const head = body[0] === 0x7b ? new TextDecoder().decode(cut) : Array.from(cut, (b) => b.toString(16).padStart(2, '0')).join('')
  return body.length > 30 ? `${head} ...` : head
}
