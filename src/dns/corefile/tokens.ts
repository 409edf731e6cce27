/** A Corefile that cannot be read, with the place. */
export class CorefileError extends Error {
  override readonly name = 'CorefileError'
}

export interface Token {
  readonly text: string
  readonly line: number
  /** It was in quotes: a brace in it is a brace. */
  readonly quoted: boolean
}

/** The words of a Corefile: apart by white space, `"…"` as one, `#` starts a comment at a word's start; `{$NAME}` is from the environment. */
export function tokenize(text: string, file: string, env: Readonly<Record<string, string | undefined>> = {}): Token[] {
  const out: Token[] = []
  let line = 1
  for (let i = 0; i < text.length; ) {
    const c = text[i] as string
    if (c === '\n') line++
    if (/\s/.test(c)) i++
    else if (c === '#') while (i < text.length && text[i] !== '\n') i++
    else if (c === '"') {
      const start = line
      let word = ''
      for (i++; ; i++) {
        if (i >= text.length) throw new CorefileError(`${file}:${start} - Error during parsing: a quote is not closed`)
        if (text[i] === '"') break
        if (text[i] === '\\' && text[i + 1] === '"') i++
        if (text[i] === '\n') line++
        word += text[i]
      }
      i++
      out.push({ text: word, line: start, quoted: true })
    } else {
      let end = i
      while (end < text.length && !/\s/.test(text[end] as string)) end++
      const word = text.slice(i, end).replace(/\{\$(\w+)\}|\{%(\w+)%\}/g, (_, a, b) => env[a ?? b] ?? '')
      if (word !== '') out.push({ text: word, line, quoted: false })
      i = end
    }
  }
  return out
}
