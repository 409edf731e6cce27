/** What one pass over JSON text tells; trusted only when the text is well-formed. */
export interface ScanResult {
  /** Keys of all objects, duplicates counted. */
  keys: number
  /** Deepest nesting of objects and arrays. */
  depth: number
  /** Some number's text matters: a fraction, an exponent, or more digits than a double holds. */
  exact: boolean
  /** Some string contains an escaped surrogate, which may be unpaired. */
  surrogates: boolean
}

/**
 * Counts keys and looks for what JSON.parse loses (number texts, duplicate keys, unpaired surrogates), so that the fast
 * decoder can be trusted without a tokenizer of our own.
 */
export function scanJSON(text: string): ScanResult {
  let keys = 0
  let depth = 0
  let deepest = 0
  let exact = false
  let surrogates = false
  const n = text.length
  // The next backslash from where it was last looked for; found once for all strings before it.
  let back = -1
  for (let i = 0; i < n; i++) {
    const c = text.charCodeAt(i)
    switch (c) {
      case 0x22: {
        i++
        for (;;) {
          let s = text.charCodeAt(i)
          // Short strings are cheaper to walk than to search.
          let k = 0
          while (k < 24 && s !== 0x22 && s !== 0x5c && i < n) {
            s = text.charCodeAt(++i)
            k++
          }
          if (i >= n || s === 0x22) break
          if (s === 0x5c) {
            const e = text.charCodeAt(i + 1)
            if (e === 0x75 && (text.charCodeAt(i + 2) | 0x20) === 0x64) surrogates = true
            i += 2
            continue
          }
          const quote = text.indexOf('"', i)
          if (back < i) {
            back = text.indexOf('\\', i)
            if (back < 0) back = n
          }
          if (quote < 0) {
            i = n
            break
          }
          i = Math.min(back, quote)
          if (i === quote) break
        }
        break
      }
      case 0x3a:
        keys++
        break
      case 0x7b:
      case 0x5b:
        if (++depth > deepest) deepest = depth
        break
      case 0x7d:
      case 0x5d:
        depth--
        break
      case 0x2e:
      case 0x45:
        exact = true
        break
      case 0x65:
        // The e of true and false follows a letter; that of an exponent a digit.
        if (text.charCodeAt(i - 1) <= 0x39) exact = true
        break
      default:
        if (c >= 0x30 && c <= 0x39) {
          const start = i
          while (text.charCodeAt(i + 1) >= 0x30 && text.charCodeAt(i + 1) <= 0x39) i++
          if (i - start >= 14) exact = true
        }
    }
  }
  return { keys, depth: deepest, exact, surrogates }
}

/** Replaces escaped unpaired surrogates by U+FFFD, as Go's decoder does. */
export function repairSurrogates(text: string): string {
  return text.replace(/\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)/g, (m) =>
    m.length === 6 && /^\\u[dD][89a-fA-F]/.test(m) ? '\\ufffd' : m,
  )
}
