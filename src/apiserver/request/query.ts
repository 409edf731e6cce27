/**
 * Query parameters, parsed once when first asked for. Names repeat; the first value counts unless `all` is asked.
 */
export class Query {
  private readonly raw: string
  private parsed: Map<string, string[]> | undefined

  constructor(raw: string) {
    this.raw = raw
  }

  get text(): string {
    return this.raw
  }

  private map(): Map<string, string[]> {
    if (this.parsed) return this.parsed
    const out = new Map<string, string[]>()
    if (this.raw !== '') {
      for (const pair of this.raw.split('&')) {
        if (pair === '') continue
        const eq = pair.indexOf('=')
        const key = unescapeQuery(eq < 0 ? pair : pair.slice(0, eq))
        const value = eq < 0 ? '' : unescapeQuery(pair.slice(eq + 1))
        if (key === undefined || value === undefined) continue
        const list = out.get(key)
        if (list) list.push(value)
        else out.set(key, [value])
      }
    }
    this.parsed = out
    return out
  }

  has(name: string): boolean {
    return this.raw !== '' && this.map().has(name)
  }

  get(name: string): string | undefined {
    return this.raw === '' ? undefined : this.map().get(name)?.[0]
  }

  all(name: string): string[] {
    return this.raw === '' ? [] : (this.map().get(name) ?? [])
  }

  /** Absent, `0` and `false` are false, all else is true. */
  bool(name: string): boolean {
    const value = this.get(name)
    if (value === undefined) return false
    return value !== '0' && value.toLowerCase() !== 'false'
  }
}

function unescapeQuery(text: string): string | undefined {
  if (text.indexOf('%') < 0 && text.indexOf('+') < 0) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return unescapeBytes(text)
  }
}

/** Escapes that are no UTF-8: bytes that make no character become U+FFFD. Undefined: no escapes at all. */
function unescapeBytes(text: string): string | undefined {
  const bytes: number[] = []
  for (let i = 0; i < text.length; i++) {
    const c = text[i] as string
    if (c === '%') {
      const hex = text.slice(i + 1, i + 3)
      if (!/^[0-9a-fA-F]{2}$/.test(hex)) return undefined
      bytes.push(Number.parseInt(hex, 16))
      i += 2
    } else if (c === '+') bytes.push(32)
    else bytes.push(...Buffer.from(c, 'utf8'))
  }
  return Buffer.from(bytes).toString('utf8')
}
