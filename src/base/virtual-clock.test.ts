import { expect, test } from 'vitest'
import { VirtualClock } from './virtual-clock.ts'

test('timers fire in order of time, and only when time is moved', async () => {
  const clock = new VirtualClock(0)
  const seen: string[] = []
  clock.setTimeout(() => seen.push(`b@${clock.now()}`), 20)
  clock.setTimeout(() => seen.push(`a@${clock.now()}`), 10)
  const cancelled = clock.setTimeout(() => seen.push('never'), 15)
  cancelled.cancel()
  await clock.settle()
  expect(seen).toEqual([])
  await clock.advance(20)
  expect(seen).toEqual(['a@10', 'b@20'])
  expect(clock.now()).toBe(20)
})

test('a timer set by a timer within the span fires too', async () => {
  const clock = new VirtualClock(0)
  const seen: number[] = []
  clock.setTimeout(() => clock.setTimeout(() => seen.push(clock.now()), 5), 5)
  await clock.advance(10)
  expect(seen).toEqual([10])
})

test('tracked work keeps the clock from counting as settled', async () => {
  const clock = new VirtualClock(0)
  let done = false
  clock.track(
    new Promise<void>((resolve) => setTimeout(resolve, 30)).then(() => {
      done = true
    }),
  )
  await clock.settle()
  expect(done).toBe(true)
})

test('sleep rejects with the reason of its signal', async () => {
  const clock = new VirtualClock(0)
  const stop = new AbortController()
  const slept = clock.sleep(1000, stop.signal)
  stop.abort(new Error('stopped'))
  await expect(slept).rejects.toThrow('stopped')
  expect(clock.timerCount()).toBe(0)
})
