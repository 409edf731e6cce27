import type { Job } from '../../api/batch/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isNotFound } from '../../apimachinery/errors.ts'
import { objectKey, splitKey } from '../../apimachinery/object.ts'
import { timeMs } from '../../apimachinery/time.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'

/** Deletes Jobs some time after they ended, when they ask for it. */
export class TtlAfterFinishedController {
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    const { client, clock } = context
    const jobs = context.informers.informer(resources.batchv1.jobs)
    const leftMs = (job: Job): number | undefined => {
      const condition = job.status.conditions?.find((c) => (c.type === 'Complete' || c.type === 'Failed') && c.status === 'True')
      const ttl = job.spec.ttlSecondsAfterFinished
      if (!condition || ttl === undefined || job.metadata.deletionTimestamp) return undefined
      const finished = timeMs(condition.lastTransitionTime)
      if (finished === undefined) throw new Error(`unable to find the time when the Job ${objectKey(job)} finished`)
      return finished + ttl * 1000 - clock.now()
    }
    this.controller = new Controller(context, {
      name: 'ttl-after-finished-controller',
      informers: [jobs],
      reconcile: async (key) => {
        const cached = jobs.lister.get(key)
        const left = cached && leftMs(cached)
        if (left === undefined) return
        if (left > 0) return { requeueAfterMs: left }
        const { namespace, name } = splitKey(key)
        const resource = client.resource(resources.batchv1.jobs).namespace(namespace)
        try {
          // The TTL may have been prolonged since the cache saw the Job.
          const fresh = await resource.get(name)
          const now = leftMs(fresh)
          if (now === undefined || fresh.metadata.uid !== cached?.metadata.uid) return
          if (now > 0) return { requeueAfterMs: now }
          await resource.delete(name, { propagationPolicy: 'Foreground', preconditions: { uid: fresh.metadata.uid ?? '' } })
        } catch (error) {
          if (!isNotFound(error)) throw error
        }
      },
    })
    const enqueue = (job: Job) => {
      if (job.spec.ttlSecondsAfterFinished !== undefined && !job.metadata.deletionTimestamp) this.controller.queue.add(objectKey(job))
    }
    jobs.addHandler({ onAdd: enqueue, onUpdate: (_, job) => enqueue(job) })
  }

  run(): Promise<void> {
    return this.controller.run()
  }
}
