import { expect, it } from 'vitest'
import { controllerHarness } from '../testing/controller-harness.ts'
import { Controller } from './controller.ts'

it('a key that asks for itself again at once comes back with back-off', async () => {
  const h = controllerHarness()
  const at: number[] = []
  const controller = new Controller(h.context, {
    name: 'again',
    informers: [],
    reconcile: async () => {
      at.push(h.clock.now())
      return { requeueAfterMs: 0 }
    },
  })
  await h.start(controller)
  controller.queue.add('default/a')
  await h.clock.advance(1000)
  const gaps = at.slice(1).map((t, i) => t - (at[i] as number))
  expect(gaps.slice(0, 4)).toEqual([5, 10, 20, 40])
  await h.stop()
})
