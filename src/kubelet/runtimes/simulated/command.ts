import { spanMs } from './span.ts'

/** Programs that end by themselves whatever their arguments, like the `wget` of a chart's test. */
const ENDING = new Set([
  'wget',
  'curl',
  'nslookup',
  'dig',
  'ls',
  'cat',
  'env',
  'printenv',
  'date',
  'hostname',
  'id',
  'whoami',
  'uname',
  'pwd',
  'cp',
  'mv',
  'mkdir',
  'chmod',
  'chown',
  'touch',
])

/** One thing a simulated process does. */
export type Step = { do: 'print'; text: string } | { do: 'sleep'; ms: number } | { do: 'exit'; code: number }

/**
 * What a command line would do, for the few commands whose effect is known without running them: `true`, `false`, `:`, `echo`,
 * `sleep`, `exit`, programs that end by themselves (`wget`, `curl`, `ls`, …: they do nothing and succeed), and `sh -c` of a sequence of
 * those joined by `;`, `&&` or newlines. Undefined for anything else.
 */
export function understandCommand(argv: readonly string[]): Step[] | undefined {
  const [head, ...rest] = argv
  if (head === undefined) return undefined
  const name = head.slice(head.lastIndexOf('/') + 1)
  if (name === 'sh' || name === 'bash' || name === 'ash' || name === 'dash') {
    const flag = rest[0]
    if (rest.length < 2 || flag === undefined || !/^-[a-z]*c$/.test(flag)) return undefined
    return understandShell(rest[1] as string)
  }
  return simple(name, rest)
}

function understandShell(text: string): Step[] | undefined {
  if (text.length > 4096 || /[|<>`$(){}*?\\&]/.test(text.replaceAll('&&', ''))) return undefined
  const steps: Step[] = []
  for (const part of text.split(/;|&&|\n/)) {
    const words = part.trim().match(/"[^"]*"|'[^']*'|[^\s"']+/g)
    if (!words) continue
    const [name, ...args] = words.map((w) => w.replace(/^(["'])(.*)\1$/s, '$2'))
    const step = simple(name as string, args)
    if (!step) return undefined
    steps.push(...step)
    const last = steps.at(-1)
    if (last?.do === 'exit' && name === 'exit') return steps
    if (last?.do === 'exit') steps.pop()
    // `false && …` or `false; …`: only its place at the end matters for the result.
    if (name === 'false' && text.trimEnd().endsWith('false')) return [...steps, { do: 'exit', code: 1 }]
  }
  return [...steps, { do: 'exit', code: 0 }]
}

function simple(name: string, args: readonly string[]): Step[] | undefined {
  switch (name) {
    case 'true':
    case ':':
      return [{ do: 'exit', code: 0 }]
    case 'false':
      return [{ do: 'exit', code: 1 }]
    case 'exit': {
      const code = args[0] ?? '0'
      return /^\d{1,3}$/.test(code) ? [{ do: 'exit', code: Number(code) & 0xff }] : undefined
    }
    case 'echo':
      return [
        { do: 'print', text: args.filter((a, i) => !(i === 0 && a === '-n')).join(' ') },
        { do: 'exit', code: 0 },
      ]
    case 'sleep': {
      if (args.length !== 1) return undefined
      const text = args[0] as string
      const ms = text === 'infinity' || text === 'inf' ? Number.POSITIVE_INFINITY : text.endsWith('d') ? Number(text.slice(0, -1)) * 86_400_000 : spanMs(text)
      if (ms === undefined || Number.isNaN(ms)) return undefined
      return [
        { do: 'sleep', ms },
        { do: 'exit', code: 0 },
      ]
    }
  }
  return ENDING.has(name) ? [{ do: 'exit', code: 0 }] : undefined
}
