import type { FlagSpecs, ParsedFlags } from '../../component-base/flags/index.ts'

/** What a command may touch of the world outside. */
export interface CommandIO {
  out(text: string): void
  err(text: string): void
  env: Record<string, string | undefined>
  colors: boolean
}

export interface Command {
  /** After `k8ts`, such as `up [flags]`. */
  usage: string
  summary: string
  examples: string
  flags: FlagSpecs
  /** What each argument may be, by its place, where that is known: for completion. */
  words?: readonly (readonly string[])[]
  /** Flags that are nobody's are passed on as arguments. */
  passThrough?: boolean
  /** @returns the exit code */
  run(flags: ParsedFlags, io: CommandIO): Promise<number>
}

/** Printed as one line, exit code 1. */
export class CommandError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CommandError'
  }
}
