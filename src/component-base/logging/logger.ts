import type { Clock } from '../../base/index.ts'
import type { Logger } from '../component.ts'

/** Where finished lines go, each without its line feed. */
export interface LogSink {
  write(line: string): void
}

export interface LoggerOptions {
  /** Named where Go names the source file. */
  component: string
  sink: LogSink
  clock: Pick<Clock, 'now'>
  /** klog's `--v`. @default 0 */
  verbosity?: number
  /** `text` is klog's form, `json` that of Kubernetes' JSON log format. @default text */
  format?: 'text' | 'json'
  pid?: number
}

type Fields = Record<string, unknown>
type Severity = 'I' | 'W' | 'E'

const NOTHING = { info() {} }

/** A logger that formats and hands each line to its sink; nothing is buffered. */
export function createLogger(options: LoggerOptions): Logger {
  return new LineLogger(options, {})
}

class LineLogger implements Logger {
  private readonly options: LoggerOptions
  private readonly fields: Fields

  constructor(options: LoggerOptions, fields: Fields) {
    this.options = options
    this.fields = fields
  }

  error(message: string, fields?: Fields): void {
    this.write('E', 0, message, fields)
  }

  warn(message: string, fields?: Fields): void {
    this.write('W', 0, message, fields)
  }

  info(message: string, fields?: Fields): void {
    this.write('I', 0, message, fields)
  }

  v(level: number): Pick<Logger, 'info'> {
    if (level > (this.options.verbosity ?? 0)) return NOTHING
    return { info: (message, fields) => this.write('I', level, message, fields) }
  }

  with(fields: Fields): Logger {
    return new LineLogger(this.options, { ...this.fields, ...fields })
  }

  private write(severity: Severity, level: number, message: string, fields: Fields = {}): void {
    const { sink, clock, format, component, pid } = this.options
    const all = { ...this.fields, ...fields }
    const now = clock.now()
    sink.write(format === 'json' ? jsonLine(severity, level, component, now, message, all) : textLine(severity, component, pid ?? 1, now, message, all))
  }
}

function jsonLine(severity: Severity, level: number, component: string, now: number, message: string, fields: Fields): string {
  const head = {
    ts: Math.round(now * 1000) / 1000,
    caller: component,
    msg: message,
    ...(severity === 'I' ? { v: level } : severity === 'W' ? { v: 0, warning: true } : {}),
  }
  return JSON.stringify({ ...head, ...fields })
}

const two = (n: number) => String(n).padStart(2, '0')

/** `I0102 15:04:05.123456       1 component] "message" key="value"`, in UTC. */
function textLine(severity: Severity, component: string, pid: number, now: number, message: string, fields: Fields): string {
  const d = new Date(now)
  const micros = String(Math.floor((now - Math.floor(now / 1000) * 1000) * 1000)).padStart(6, '0')
  let line = `${severity}${two(d.getUTCMonth() + 1)}${two(d.getUTCDate())} ${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())}.${micros} ${String(pid).padStart(7)} ${component}] ${JSON.stringify(message)}`
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) line += ` ${key}=${fieldText(value)}`
  return line
}

function fieldText(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof Error) return JSON.stringify(value.message)
  try {
    return JSON.stringify(value)
  } catch {
    return '"<unprintable>"'
  }
}

/** Keeps the last `limit` lines in memory: for tests and for `logs` of built-in units. */
export class MemoryLogSink implements LogSink {
  private readonly kept: string[] = []
  private readonly limit: number

  constructor(limit = 1000) {
    this.limit = limit
  }

  write(line: string): void {
    this.kept.push(line)
    if (this.kept.length > this.limit * 2) this.kept.splice(0, this.kept.length - this.limit)
  }

  lines(): string[] {
    return this.kept.slice(-this.limit)
  }
}

/** A logger that says nothing. */
export function silentLogger(): Logger {
  const logger: Logger = { error() {}, warn() {}, info() {}, v: () => NOTHING, with: () => logger }
  return logger
}
