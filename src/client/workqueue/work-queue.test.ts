import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../base/index.ts'
import { BucketLimiter, ExponentialLimiter } from './rate-limiter.ts'
import { WorkQueue } from './work-queue.ts'

const make = () => {
  const clock = new VirtualClock()
  return { clock, queue: new WorkQueue({ clock }) }
}

describe('work queue', () => {
  it('holds an item once and gives it again only after done', async () => {
    const { queue } = make()
    queue.add('a')
    queue.add('a')
    queue.add('b')
    expect(queue.length).toBe(2)
    expect(await queue.get()).toBe('a')
    queue.add('a')
    expect(queue.length).toBe(1)
    expect(await queue.get()).toBe('b')
    queue.done('a')
    expect(await queue.get()).toBe('a')
  })

  it('keeps the earliest of several delays', async () => {
    const { clock, queue } = make()
    queue.addAfter('a', 100)
    queue.addAfter('a', 50)
    queue.addAfter('a', 500)
    await clock.advance(49)
    expect(queue.length).toBe(0)
    await clock.advance(1)
    expect(queue.length).toBe(1)
    await queue.get()
    queue.done('a')
    await clock.advance(1000)
    expect(queue.length).toBe(0)
  })

  it('backs off per item and forgets', async () => {
    const { clock, queue } = make()
    for (const wait of [5, 10, 20, 40]) {
      queue.addRateLimited('a')
      await clock.advance(wait - 1)
      expect(queue.length).toBe(0)
      await clock.advance(1)
      expect(await queue.get()).toBe('a')
      queue.done('a')
    }
    expect(queue.requeues('a')).toBe(4)
    queue.forget('a')
    queue.addRateLimited('a')
    await clock.advance(5)
    expect(queue.length).toBe(1)
  })

  it('ends waiting takers and drains at shutdown, leaving no timer', async () => {
    const { clock, queue } = make()
    queue.add('a')
    await queue.get()
    queue.addAfter('b', 1000)
    const waiting = queue.get()
    let drained = false
    const drain = queue.shutDownWithDrain().then(() => (drained = true))
    expect(await waiting).toBeUndefined()
    expect(drained).toBe(false)
    queue.done('a')
    await drain
    expect(clock.timerCount()).toBe(0)
    queue.add('c')
    expect(await queue.get()).toBeUndefined()
  })

  it('limits by bucket and by exponent', async () => {
    const clock = new VirtualClock()
    const bucket = new BucketLimiter(clock, 10, 2)
    expect([bucket.when(), bucket.when(), bucket.when(), bucket.when()].map(Math.round)).toEqual([0, 0, 100, 200])
    const exponential = new ExponentialLimiter(5, 1000)
    expect(Array.from({ length: 9 }, () => exponential.when('x'))).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1000])
  })
})
