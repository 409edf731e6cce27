/**
 * A tutorial page as a test. `console` blocks hold commands (lines that start with `$ `, continued while they end in `\`) each followed by its
 * output; `yaml` blocks with a `title` are files in the reader's folder. A comment before a block says more:
 *
 *   <!-- real -->       only where containers are real       <!-- simulated -->  only where they are simulated
 *   <!-- once -->       compared once, not repeated until the cluster has got there
 *   <!-- background --> runs beside what follows and is compared at the end of the page
 *   <!-- exit N -->     the command ends with this exit code
 *   <!-- seconds N -->  how long the cluster may take to get there
 *
 * In an output a line `...` stands for any lines, also none.
 */
export interface Page {
  title: string
  steps: Step[]
}

export type Step =
  | { kind: 'file'; name: string; text: string; line: number }
  | {
      kind: 'command'
      command: string
      output: string[]
      line: number
      only?: 'real' | 'simulated'
      once: boolean
      background: boolean
      exit: number
      seconds: number
    }

const DEFAULT_SECONDS = 30

export function parsePage(markdown: string): Page {
  const lines = markdown.split('\n')
  const steps: Step[] = []
  let title = ''
  let notes: string[] = []
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string
    if (title === '' && line.startsWith('# ')) title = line.slice(2)
    const note = /^<!-- (.*) -->$/.exec(line)?.[1]
    if (note !== undefined) {
      notes.push(note)
      continue
    }
    const fence = /^```(\S+)(.*)$/.exec(line)
    if (!fence) {
      if (line.trim() !== '') notes = []
      continue
    }
    const start = i + 1
    let end = start
    while (end < lines.length && lines[end] !== '```') end++
    const body = lines.slice(start, end)
    i = end
    const file = /title="([^"]+)"/.exec(fence[2] as string)?.[1]
    if (file) steps.push({ kind: 'file', name: file, text: `${body.join('\n')}\n`, line: start + 1 })
    else if (fence[1] === 'console') steps.push(...commands(body, start + 1, notes))
    notes = []
  }
  return { title, steps }
}

function commands(body: string[], firstLine: number, notes: string[]): Step[] {
  const has = (word: string) => notes.includes(word)
  const number = (word: string) => notes.map((n) => new RegExp(`^${word} (\\d+)$`).exec(n)?.[1]).find((n) => n !== undefined)
  const steps: Step[] = []
  for (let i = 0; i < body.length; i++) {
    const line = body[i] as string
    if (line.startsWith('$ ')) {
      let command = line.slice(2)
      const at = firstLine + i
      while (command.endsWith('\\') && i + 1 < body.length) command = `${command.slice(0, -1)}${(body[++i] as string).replace(/^> ?/, '')}`
      steps.push({
        kind: 'command',
        command,
        output: [],
        line: at,
        ...(has('real') ? { only: 'real' as const } : has('simulated') ? { only: 'simulated' as const } : {}),
        once: has('once'),
        background: has('background'),
        exit: Number(number('exit') ?? 0),
        seconds: Number(number('seconds') ?? DEFAULT_SECONDS),
      })
    } else {
      const last = steps.at(-1)
      if (last?.kind === 'command') last.output.push(line)
    }
  }
  return steps
}

/** The page with other names, images, counts: every whole-word occurrence of a key becomes its value. */
export function vary(markdown: string, words: Readonly<Record<string, string>>): string {
  let out = markdown
  const keys = Object.keys(words).sort((a, b) => b.length - a.length)
  // Through placeholders, so that one replacement cannot hit the result of another.
  keys.forEach((k, i) => {
    out = out.split(k).join(`\u0000${i}\u0000`)
  })
  keys.forEach((k, i) => {
    out = out.split(`\u0000${i}\u0000`).join(words[k])
  })
  return out
}
