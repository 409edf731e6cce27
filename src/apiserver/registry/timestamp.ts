/** ms since the epoch as the API prints times: UTC, whole seconds. */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== last.second) {
    last.text = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`
    last.second = second
  }
  return last.text
}

/** Most times that are printed are of this very second. */
const last = { second: Number.NaN, text: '' }

/** ms since the epoch; NaN when the text is no time. */
export function parseTime(text: string): number {
  return Date.parse(text)
}
