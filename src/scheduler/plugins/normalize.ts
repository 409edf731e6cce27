/** Scores to 0..100, the highest raw score becoming 100; all stay 0 when none is above. Divisions truncate. */
export function normalizeDefault(scores: number[]): void {
  const max = Math.max(0, ...scores)
  if (max === 0) return
  for (let i = 0; i < scores.length; i++) scores[i] = Math.trunc((100 * (scores[i] as number)) / max)
}

/** As `normalizeDefault`, but the lowest raw score becomes 100. */
export function normalizeReversed(scores: number[]): void {
  const max = Math.max(0, ...scores)
  for (let i = 0; i < scores.length; i++) scores[i] = max === 0 ? 100 : 100 - Math.trunc((100 * (scores[i] as number)) / max)
}
