import { describe, expect, it } from 'vitest'
import type { Job } from '../../api/batch/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import { controllerHarness } from '../../testing/controller-harness.ts'
import { TtlAfterFinishedController } from '../ttlafterfinished/controller.ts'
import { JobController } from './controller.ts'
import { formatIndexes, parseIndexes } from './indexes.ts'

const { jobs } = resources.batchv1
const { pods } = resources.corev1

async function running() {
  const h = controllerHarness()
  await h.start(new JobController(h.context), new TtlAfterFinishedController(h.context))
  const make = async (name: string, spec: object = {}) => {
    const labels = { 'job-name': name }
    await h.create(jobs, {
      metadata: { name },
      spec: {
        parallelism: 1,
        completions: 1,
        backoffLimit: 6,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x' }] } },
        ...spec,
      },
    })
    await h.clock.advance(3000)
  }
  const end = async (phase: string, index?: number, exitCode = phase === 'Failed' ? 1 : 0) => {
    const pod = (await h.list(pods)).find(
      (p) => p.status?.phase === 'Pending' && (index === undefined || p.metadata.labels?.['batch.kubernetes.io/job-completion-index'] === String(index)),
    )
    await h.client
      .resource(pods)
      .namespace('default')
      .patch(
        pod?.metadata.name ?? '',
        'strategic',
        {
          status: { phase, containerStatuses: [{ name: 'main', image: 'x', imageID: '', ready: false, restartCount: 0, state: { terminated: { exitCode } } }] },
        },
        { subresource: 'status' },
      )
    await h.clock.advance(3000)
  }
  const status = async (name: string) => (await h.client.resource(jobs).namespace('default').get(name)).status
  const conditions = async (name: string) => ((await status(name)) as Job['status']).conditions?.map((c) => `${c.type}=${c.status} ${c.reason} ${c.message}`)
  return { ...h, make, end, status, conditions }
}

describe('job controller', () => {
  it('completes, and counts its Pod once', async () => {
    const h = await running()
    await h.make('report')
    expect(await h.status('report')).toEqual({ startTime: expect.any(String), active: 1, terminating: 0, uncountedTerminatedPods: {}, ready: 0 })
    expect((await h.list(pods))[0]?.metadata.finalizers).toEqual(['batch.kubernetes.io/job-tracking'])
    await h.end('Succeeded')
    expect(await h.status('report')).toEqual({
      conditions: [
        {
          type: 'SuccessCriteriaMet',
          status: 'True',
          lastProbeTime: expect.any(String),
          lastTransitionTime: expect.any(String),
          reason: 'CompletionsReached',
          message: 'Reached expected number of succeeded pods',
        },
        {
          type: 'Complete',
          status: 'True',
          lastProbeTime: expect.any(String),
          lastTransitionTime: expect.any(String),
          reason: 'CompletionsReached',
          message: 'Reached expected number of succeeded pods',
        },
      ],
      startTime: expect.any(String),
      completionTime: expect.any(String),
      succeeded: 1,
      terminating: 0,
      uncountedTerminatedPods: {},
      ready: 0,
    })
    expect((await h.list(pods))[0]?.metadata.finalizers ?? []).toEqual([])
    expect((await h.events('job-controller')).map((e) => e.replace(/report-\w+/, 'P'))).toEqual([
      'Normal SuccessfulCreate Created pod: P',
      'Normal Completed Job completed',
    ])
    expect(await h.stop()).toEqual({ timers: 0, watches: 0 })
  })

  it('tries again after a pause, and fails at its limit', async () => {
    const h = await running()
    await h.make('retry', { backoffLimit: 1 })
    await h.end('Failed')
    expect(await h.status('retry')).toMatchObject({ failed: 1, uncountedTerminatedPods: {} })
    await h.clock.advance(11_000)
    expect(await h.status('retry')).toMatchObject({ active: 1, failed: 1 })
    await h.end('Failed')
    expect(await h.conditions('retry')).toEqual([
      'FailureTarget=True BackoffLimitExceeded Job has reached the specified backoff limit',
      'Failed=True BackoffLimitExceeded Job has reached the specified backoff limit',
    ])
    expect(await h.status('retry')).toMatchObject({ failed: 2, terminating: 0 })
    await h.stop()
  })

  it('ends at its deadline, taking its Pods along', async () => {
    const h = await running()
    await h.make('slow', { activeDeadlineSeconds: 10 })
    await h.clock.advance(15_000)
    expect(await h.conditions('slow')).toEqual([
      'FailureTarget=True DeadlineExceeded Job was active longer than specified deadline',
      'Failed=True DeadlineExceeded Job was active longer than specified deadline',
    ])
    expect(await h.status('slow')).toMatchObject({ failed: 1, terminating: 0, uncountedTerminatedPods: {} })
    expect(await h.list(pods)).toEqual([])
    await h.stop()
  })

  it('suspends and resumes without counting a failure', async () => {
    const h = await running()
    await h.make('napping', { suspend: true })
    expect(await h.conditions('napping')).toEqual(['Suspended=True JobSuspended Job suspended'])
    const patch = (suspend: boolean) => h.client.resource(jobs).namespace('default').patch('napping', 'merge', { spec: { suspend } })
    await patch(false)
    await h.clock.advance(3000)
    expect(await h.status('napping')).toMatchObject({ active: 1, startTime: expect.any(String) })
    await patch(true)
    await h.clock.advance(3000)
    expect(await h.list(pods)).toEqual([])
    const status = await h.status('napping')
    expect([status.failed, status.active, status.startTime]).toEqual([undefined, undefined, undefined])
    expect((await h.events('job-controller')).map((e) => e.replace(/napping-\w+/, 'P'))).toEqual([
      'Normal Suspended Job suspended (2)',
      'Normal SuccessfulCreate Created pod: P',
      'Normal Resumed Job resumed',
      'Normal SuccessfulDelete Deleted pod: P',
    ])
    await h.stop()
  })

  it('runs indexes', async () => {
    const h = await running()
    await h.make('grid', { completions: 4, parallelism: 2, completionMode: 'Indexed' })
    expect((await h.list(pods)).map((p) => [p.metadata.generateName, p.spec.hostname])).toEqual([
      ['grid-0-', 'grid-0'],
      ['grid-1-', 'grid-1'],
    ])
    await h.end('Succeeded', 0)
    expect(await h.status('grid')).toMatchObject({ succeeded: 1, completedIndexes: '0', active: 2 })
    for (const i of [1, 2, 3]) await h.end('Succeeded', i)
    expect(await h.status('grid')).toMatchObject({ succeeded: 4, completedIndexes: '0-3' })
    expect((await h.conditions('grid'))?.at(-1)).toContain('Complete=True CompletionsReached')
    await h.stop()
  })

  it('obeys its failure policy', async () => {
    const h = await running()
    await h.make('policy', { podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [42] } }] } })
    await h.end('Failed', undefined, 42)
    const name = (await h.list(pods))[0]?.metadata.name
    expect((await h.conditions('policy'))?.[1]).toBe(
      `Failed=True PodFailurePolicy Container main for pod default/${name} failed with exit code 42 matching FailJob rule at index 0`,
    )
    await h.stop()
  })

  it('is deleted when its time after the end is over', async () => {
    const h = await running()
    await h.make('ttl', { ttlSecondsAfterFinished: 30 })
    await h.end('Succeeded')
    expect(await h.list(jobs)).toHaveLength(1)
    await h.clock.advance(40_000)
    expect((await h.list(jobs)).filter((j) => !j.metadata.deletionTimestamp)).toHaveLength(0)
    await h.stop()
  })

  it('writes runs of three or more as a range', () => {
    expect(formatIndexes([0, 2, 3, 4, 7, 8])).toBe('0,2-4,7,8')
    expect([...parseIndexes('0,2-4,7', 7)]).toEqual([0, 2, 3, 4])
  })
})
