/** One line of the table. */
export interface Row {
  what: string
  figure: number
  unit: string
  /** What a quiet machine of two cores should reach. */
  target?: { most: number } | { least: number }
  note?: string
}

/** A group of measurements; `run` tells each row when it has it. */
export interface Bench {
  name: string
  /** Not part of a plain run: it takes long, or needs what not every machine has. */
  onRequest?: string
  run(tell: (row: Row) => void): Promise<void>
}

export function verdict({ figure, target }: Row): 'ok' | 'miss' | '' {
  if (!target) return ''
  return ('most' in target ? figure <= target.most : figure >= target.least) ? 'ok' : 'miss'
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

export const shown = (value: number): string =>
  Number.isNaN(value) ? 'failed' : value >= 100 ? Math.round(value).toLocaleString('en-US') : value >= 10 ? value.toFixed(1) : value.toFixed(2)
