import { CorefileError, type Token, tokenize } from './tokens.ts'

/** A line of a Corefile: a word, what follows it, and the lines of its braces. */
export interface Directive {
  readonly name: string
  readonly args: readonly string[]
  readonly body: readonly Directive[] | undefined
  readonly line: number
}

export interface ServerBlock {
  /** As written: `.:53`, `example.org`, `dns://.:1053`. */
  readonly keys: readonly string[]
  readonly directives: readonly Directive[]
  readonly line: number
}

const MAX_DEPTH = 8

/** The server blocks of a Corefile. @throws CorefileError with file and line */
export function parseBlocks(text: string, file: string, env: Readonly<Record<string, string | undefined>> = {}): ServerBlock[] {
  return new Parser(tokenize(text, file, env), file).blocks()
}

class Parser {
  private readonly tokens: readonly Token[]
  private readonly file: string
  private at = 0

  constructor(tokens: readonly Token[], file: string) {
    this.tokens = tokens
    this.file = file
  }

  private fail(line: number, message: string): never {
    throw new CorefileError(`${this.file}:${line} - Error during parsing: ${message}`)
  }

  blocks(): ServerBlock[] {
    const out: ServerBlock[] = []
    while (this.at < this.tokens.length) {
      const first = this.tokens[this.at] as Token
      const keys: string[] = []
      for (; !this.is('{'); this.at++) {
        const t = this.tokens[this.at]
        // A file without braces is one block: its keys are the first line.
        if (!t || (out.length === 0 && keys.length > 0 && t.line !== this.tokens[this.at - 1]?.line && !keys.at(-1)?.endsWith(','))) break
        if (this.is('}')) this.fail(t.line, "unexpected '}'")
        keys.push(t.text)
      }
      const names = keys.flatMap((k) => k.split(',')).filter((k) => k !== '')
      if (names.length === 0) this.fail(first.line, 'a server block has no zone')
      const braces = this.is('{')
      if (braces) this.at++
      out.push({ keys: names, directives: this.body(first.line, 1, braces), line: first.line })
    }
    return out
  }

  private is(text: '{' | '}'): boolean {
    const t = this.tokens[this.at]
    return t !== undefined && t.text === text && !t.quoted
  }

  /** What is between braces, the closing one included; without braces, to the end. */
  private body(opened: number, depth: number, braces: boolean): Directive[] {
    if (depth > MAX_DEPTH) this.fail(opened, 'braces are nested too deep')
    const out: Directive[] = []
    for (;;) {
      const t = this.tokens[this.at]
      if (!t) {
        if (braces) this.fail(opened, "unexpected EOF: '{' is not closed")
        return out
      }
      if (this.is('}')) {
        if (!braces) this.fail(t.line, "unexpected '}'")
        this.at++
        return out
      }
      if (this.is('{')) this.fail(t.line, "unexpected '{'")
      this.at++
      const args: string[] = []
      let body: Directive[] | undefined
      while (this.at < this.tokens.length && (this.tokens[this.at] as Token).line === t.line) {
        if (this.is('}')) break
        if (this.is('{')) {
          this.at++
          body = this.body(t.line, depth + 1, true)
          break
        }
        args.push((this.tokens[this.at++] as Token).text)
      }
      out.push({ name: t.text, args, body, line: t.line })
    }
  }
}
