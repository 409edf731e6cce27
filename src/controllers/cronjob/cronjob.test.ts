import { describe, expect, it } from 'vitest'
import { resources } from '../../api/index.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { deepCopy } from '../../base/index.ts'
import { controllerHarness } from '../../testing/controller-harness.ts'
import { CronJobController } from './controller.ts'

const { cronjobs, jobs } = resources.batchv1

async function running(spec: object = {}) {
  const h = controllerHarness()
  await h.start(new CronJobController(h.context))
  await h.create(cronjobs, {
    metadata: { name: 'min' },
    spec: {
      schedule: '* * * * *',
      concurrencyPolicy: 'Allow',
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
      jobTemplate: { metadata: { labels: { from: 'cron' } }, spec: { template: { spec: { containers: [] } } } },
      ...spec,
    },
  })
  const names = async () => (await h.list(jobs)).filter((j) => !j.metadata.deletionTimestamp).map((j) => j.metadata.name)
  const finish = async () => {
    for (const job of await h.list(jobs)) {
      if (job.status.conditions) continue
      const done = deepCopy(job)
      const time = formatTime(h.clock.now())
      done.status = { startTime: time, completionTime: time, succeeded: 1, conditions: [{ type: 'Complete', status: 'True', lastTransitionTime: time }] }
      await h.client.resource(jobs).namespace('default').updateStatus(done)
    }
  }
  const get = () => h.client.resource(cronjobs).namespace('default').get('min')
  return { ...h, names, finish, get }
}

describe('cron job controller', () => {
  it('makes a Job a minute and keeps the last ones', async () => {
    const h = await running({ successfulJobsHistoryLimit: 1 })
    for (let i = 0; i < 4; i++) {
      await h.clock.advance(60_500)
      await h.finish()
    }
    await h.clock.advance(1000)
    const minute = Math.floor(Date.UTC(2026, 0, 1) / 60_000)
    expect(await h.names()).toEqual([`min-${minute + 4}`])
    const cron = await h.get()
    expect(cron.status).toEqual({ lastScheduleTime: '2026-01-01T00:04:00Z', lastSuccessfulTime: expect.any(String) })
    expect((await h.list(jobs))[0]?.metadata).toMatchObject({
      labels: { from: 'cron' },
      annotations: { 'batch.kubernetes.io/cronjob-scheduled-timestamp': '2026-01-01T00:04:00Z' },
    })
    expect((await h.events()).slice(0, 2)).toEqual([
      `Normal SuccessfulCreate Created job min-${minute + 1}`,
      `Normal SawCompletedJob Saw completed job: min-${minute + 1}, condition: Complete`,
    ])
    expect(await h.stop()).toEqual({ timers: 0, watches: 0 })
  })

  it('does not start a second one when that is forbidden', async () => {
    const h = await running({ concurrencyPolicy: 'Forbid' })
    await h.clock.advance(130_000)
    expect(await h.names()).toHaveLength(1)
    expect(await h.events()).toContain('Normal JobAlreadyActive Not starting job because prior execution is running and concurrency policy is Forbid')
    await h.stop()
  })

  it('replaces the one that still runs', async () => {
    const h = await running({ concurrencyPolicy: 'Replace' })
    await h.clock.advance(130_000)
    expect(await h.names()).toHaveLength(1)
    expect((await h.get()).status.active).toHaveLength(1)
    await h.stop()
  })

  it('a day passes with one Job at its hour, in its zone', async () => {
    const h = await running({ schedule: '0 3 * * *', timeZone: 'Asia/Tokyo' })
    await h.clock.advance(24 * 3_600_000)
    expect((await h.list(jobs)).map((j) => j.metadata.annotations?.['batch.kubernetes.io/cronjob-scheduled-timestamp'])).toEqual(['2026-01-02T03:00:00+09:00'])
    await h.stop()
  })
})
