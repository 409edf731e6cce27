/** ms since the epoch as the API prints times: UTC, whole seconds. */
export function formatTime(ms: number): string {
  return `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)}Z`
}

/** ms since the epoch; NaN when the text is no time. */
export function parseTime(text: string): number {
  return Date.parse(text)
}
