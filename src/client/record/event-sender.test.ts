import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newForbidden, newNotFound } from '../../apimachinery/errors.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import type { Logger } from '../../component-base/component.ts'
import { EventSender } from './event-sender.ts'

const gone = () => newNotFound({ group: '', resource: 'events' }, 'e')

describe('EventSender', () => {
  const clock = new VirtualClock()
  let stop: AbortController
  let done: string[]
  let warned: unknown[]
  /** What each attempt of an event meets: an error, or nothing. */
  let meets: (event: string, attempt: number) => Error | undefined
  let sender: EventSender<string>
  beforeEach(() => {
    stop = new AbortController()
    done = []
    warned = []
    meets = () => undefined
    const log = { warn: (...line: unknown[]) => warned.push(line) } as unknown as Logger
    const attempts = new Map<string, number>()
    sender = new EventSender({
      clock,
      log,
      signal: stop.signal,
      firstWait: () => 0.5,
      plan: (event) =>
        event === 'spam'
          ? undefined
          : {
              patches: event.startsWith('patch'),
              write: async (create) => {
                const attempt = (attempts.get(event) ?? 0) + 1
                attempts.set(event, attempt)
                done.push(`${create ? 'create' : 'patch'} ${event} at ${clock.now() - start}`)
                const error = meets(event, attempt)
                if (error) throw error
              },
              refused: (error) => void done.push(`refused ${event}: ${error.reason}`),
            },
    })
    start = clock.now()
  })
  let start = 0
  afterEach(async () => {
    stop.abort()
    await sender.stopped()
    expect(clock.timerCount()).toBe(0)
  })

  it('writes one after another what is to be written', async () => {
    for (const event of ['a', 'spam', 'patch b']) sender.push(event, {})
    await clock.settle()
    expect(done).toEqual(['create a at 0', 'patch patch b at 0'])
  })

  it('makes an event anew that is to be patched and is gone', async () => {
    meets = (_, attempt) => (attempt === 1 ? gone() : undefined)
    sender.push('patch a', {})
    await clock.settle()
    expect(done).toEqual(['patch patch a at 0', 'create patch a at 0'])
  })

  it('takes a refusal for final, also of what was made anew', async () => {
    meets = (event) => (event === 'b' ? newForbidden({ group: '', resource: 'events' }, 'e', 'no') : gone())
    for (const event of ['patch a', 'b']) sender.push(event, {})
    await clock.settle()
    expect(done).toEqual(['patch patch a at 0', 'create patch a at 0', 'refused patch a: NotFound', 'create b at 0', 'refused b: Forbidden'])
  })

  it('tries twelve times while the server is away, and goes on with the next', async () => {
    meets = (event) => (event === 'a' ? new Error('connection refused') : undefined)
    for (const event of ['a', 'b']) sender.push(event, {})
    await clock.advance(200_000)
    expect(done.slice(0, 3)).toEqual(['create a at 0', 'create a at 5000', 'create a at 15000'])
    expect(done.slice(-2)).toEqual(['create a at 105000', 'create b at 115000'])
    expect(done.length).toBe(13)
  })

  it('drops what a full queue cannot take, and says so', async () => {
    for (let i = 0; i < 1003; i++) sender.push(`e${i}`, { reason: `r${i}` })
    await clock.settle()
    expect(done.length + warned.length).toBe(1003)
    expect(warned.at(-1)).toEqual(['unable to record event: too many queued events, dropped event', { reason: 'r1002' }])
  })
})
