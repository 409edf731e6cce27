import { spawnSync } from 'node:child_process'
import { median, type Row } from './row.ts'

/** How long an empty program took on the machine that the targets of starts were set on. */
const REFERENCE_MS = 50

/** How long a Node.js program takes that does nothing: what every start is made of, and a measure of the machine. */
export function emptyNodeMs(): number {
  const start = performance.now()
  spawnSync(process.execPath, ['-e', ''])
  return performance.now() - start
}

/** Tells of starts twice: in seconds, and as a multiple of empty programs that ran between them. */
export function tellStart(tell: (row: Row) => void, what: string, upMs: readonly number[], emptyMs: readonly number[], most: number, note: string): void {
  tell({ what, figure: median(upMs) / 1000, unit: 's', target: { most }, note })
  tell({
    what: '  times an empty Node.js program',
    figure: median(upMs) / median(emptyMs),
    unit: '×',
    target: { most: (most * 1000) / REFERENCE_MS },
    note: `that one ${Math.round(median(emptyMs))} ms`,
  })
}
