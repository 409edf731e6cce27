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

it('tells when it has worked on all that was there at its start', async () => {
  const h = controllerHarness()
  const told: string[] = []
  const open: (() => void)[] = []
  const context = { ...h.context, onStart: (caughtUp: Promise<void>) => void caughtUp.then(() => told.push('caught up')) }
  const controller = new Controller(context, { name: 'two', workers: 1, informers: [], reconcile: () => new Promise((resolve) => open.push(resolve)) })
  controller.queue.add('default/a')
  controller.queue.add('default/b')
  await h.start(controller)
  for (let i = 0; i < 2; i++) {
    expect(told).toEqual([])
    open[i]?.()
    await h.clock.settle()
  }
  expect(told).toEqual(['caught up'])
  await h.start(new Controller(context, { name: 'none', informers: [], reconcile: async () => {} }))
  await h.clock.settle()
  expect(told).toEqual(['caught up', 'caught up'])
  await h.stop()
})
