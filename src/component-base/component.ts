import type { Clock, Random } from '../base/index.ts'

/** Structured logging; `v(n)` is klog's verbosity. */
export interface Logger {
  error(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  /** Logs only when the component runs with `--v` of at least `level`. */
  v(level: number): Pick<Logger, 'info'>
  with(fields: Record<string, unknown>): Logger
}

/** What every component is given; nothing else of the outside world reaches it but its client. */
export interface ComponentContext {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Aborted when the component is to stop; it has 2 s to drain. */
  readonly signal: AbortSignal
}
