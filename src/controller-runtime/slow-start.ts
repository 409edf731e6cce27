/**
 * Runs `count` calls in batches of 1, 2, 4 … at once and stops after a batch with a failure, so that a quota that is used up
 * costs one call and not thousands.
 * @returns how many succeeded and the first error
 */
export async function slowStartBatch(count: number, call: (index: number) => Promise<void>): Promise<{ succeeded: number; error: unknown }> {
  let succeeded = 0
  let done = 0
  for (let batch = Math.min(1, count); batch > 0; batch = Math.min(2 * batch, count - done)) {
    const results = await Promise.allSettled(Array.from({ length: batch }, (_, i) => call(done + i)))
    done += batch
    let error: unknown
    let failed = false
    for (const r of results) {
      if (r.status === 'fulfilled') succeeded++
      else if (!failed) {
        failed = true
        error = r.reason
      }
    }
    if (failed) return { succeeded, error: error ?? new Error('call failed') }
  }
  return { succeeded, error: undefined }
}

/** Runs all at once; returns the first error after all have ended. */
export async function allOf<T>(items: readonly T[], call: (item: T) => Promise<void>): Promise<unknown> {
  const results = await Promise.allSettled(items.map(call))
  for (const r of results) if (r.status === 'rejected') return r.reason ?? new Error('call failed')
  return undefined
}
