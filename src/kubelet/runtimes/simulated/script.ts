import { spanMs } from './span.ts'

/**
 * What a simulated container does, told by the Pod's annotation `k8ts.dev/simulate`: statements separated by `;` or newlines, each
 * `[<container>:] <word>…` with words `key=value` (quote values that hold blanks: `log="hello world"`). A statement without a
 * container is for all of them.
 *
 *   run=5s          ends by itself after that time                exit=3        … with this code (default 0)
 *   reason=OOMKilled, message=text                                 times=2       only the first 2 runs end so, later ones go on
 *   ready=10s       probes fail until so long after the start     unready=30s   probes fail from then on
 *   live=20s        the liveness probe fails from then on         log=text      written at the start
 *   pull=3s         the pull takes so long                        pull-error=text, create-error=text, start-error=text
 *   stop=5s         takes so long to end after the stop signal; `stop=never` waits for the kill
 */
export interface Script {
  runMs?: number
  exitCode?: number
  reason?: string
  message?: string
  times?: number
  readyMs?: number
  unreadyMs?: number
  liveMs?: number
  log?: string
  pullMs?: number
  pullError?: string
  createError?: string
  startError?: string
  stopMs?: number
}

export const SIMULATE_ANNOTATION = 'k8ts.dev/simulate'

/** The script of one container. Words that mean nothing are ignored; the annotation is cut at 16 KiB. */
export function scriptFor(annotation: string | undefined, container: string): Script {
  const script: Script = {}
  if (!annotation) return script
  for (const statement of split(annotation.slice(0, 16_384), (c) => c === ';' || c === '\n')) {
    const match = /^\s*([a-z0-9][a-z0-9-]{0,62})\s*:\s+/.exec(`${statement} `)
    if (match && match[1] !== container) continue
    for (const word of split(match ? statement.slice(match[0].length) : statement, (c) => c === ' ' || c === '\t' || c === ',')) {
      const eq = word.indexOf('=')
      if (eq > 0) apply(script, word.slice(0, eq).trim(), unquote(word.slice(eq + 1).trim()))
    }
  }
  return script
}

function apply(script: Script, key: string, value: string): void {
  const ms = spanMs(value)
  const n = /^\d{1,9}$/.test(value) ? Number(value) : undefined
  switch (key) {
    case 'run':
      if (ms !== undefined) script.runMs = ms
      return
    case 'exit':
      if (n !== undefined) script.exitCode = n & 0xff
      if (script.runMs === undefined) script.runMs = 0
      return
    case 'times':
      if (n !== undefined) script.times = n
      return
    case 'ready':
      if (ms !== undefined) script.readyMs = ms
      return
    case 'unready':
      if (ms !== undefined) script.unreadyMs = ms
      return
    case 'live':
      if (ms !== undefined) script.liveMs = ms
      return
    case 'pull':
      if (ms !== undefined) script.pullMs = ms
      return
    case 'stop':
      script.stopMs = value === 'never' ? Number.POSITIVE_INFINITY : (ms ?? 0)
      return
    case 'reason':
      script.reason = value
      return
    case 'message':
      script.message = value
      return
    case 'log':
      script.log = value
      return
    case 'pull-error':
      script.pullError = value
      return
    case 'create-error':
      script.createError = value
      return
    case 'start-error':
      script.startError = value
      return
  }
}

function split(text: string, separator: (c: string) => boolean): string[] {
  const out: string[] = []
  let current = ''
  let quoted = false
  for (const c of text) {
    if (c === '"') quoted = !quoted
    if (!quoted && separator(c)) {
      if (current.trim() !== '') out.push(current)
      current = ''
    } else current += c
  }
  if (current.trim() !== '') out.push(current)
  return out
}

function unquote(text: string): string {
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text
}
