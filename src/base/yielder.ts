/** Keeps the event loop free: `await tick()` in a long loop gives it back after a slice of `sliceMs` (8 ms). */
export function yielder(sliceMs = 8): () => void | Promise<void> {
  let start = performance.now()
  return () => {
    if (performance.now() - start < sliceMs) return
    return new Promise<void>((resolve) => {
      setImmediate(() => {
        start = performance.now()
        resolve()
      })
    })
  }
}
