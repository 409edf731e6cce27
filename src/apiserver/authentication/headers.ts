/** The values of a header that may come several times; they arrive joined by `, `. */
export function headerValues(value: string | undefined): string[] {
  return value === undefined ? [] : value.split(', ')
}

/** Keys of extra headers are lower-cased and may be percent-encoded; what does not decode stays. */
export function unescapeExtraKey(key: string): string {
  const lower = key.toLowerCase()
  try {
    return decodeURIComponent(lower)
  } catch {
    return lower
  }
}
