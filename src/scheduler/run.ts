import { InformerFactory } from '../client/cache/informer-factory.ts'
import type { Client } from '../client/client.ts'
import { LeaderElector } from '../client/leaderelection/leader-elector.ts'
import { SeriesBroadcaster } from '../client/record/series-recorder.ts'
import type { ComponentContext } from '../component-base/component.ts'
import { informerView } from './cluster-view.ts'
import { Scheduler } from './scheduler.ts'

export interface SchedulerComponentOptions {
  client: Client
  /** Names the machine in events and in the lease. */
  hostname: string
  /** @default true */
  leaderElect?: boolean
  /** @default 'default-scheduler' alone */
  schedulerNames?: readonly string[]
}

/** The component: elects a leader, then schedules until the context's signal aborts. Rejects when the lease was lost. */
export async function runScheduler(context: ComponentContext, options: SchedulerComponentOptions): Promise<void> {
  const { clock, log, random, signal } = context
  const lead = async (leading: AbortSignal) => {
    const informers = new InformerFactory({ client: options.client, clock, random, log })
    const broadcasters = new Map<string, SeriesBroadcaster>()
    const recorder = (name: string) => {
      let b = broadcasters.get(name)
      if (!b)
        broadcasters.set(
          name,
          (b = new SeriesBroadcaster({ client: options.client, clock, random, log, signal: leading, controller: name, hostname: options.hostname })),
        )
      return b
    }
    const scheduler = new Scheduler({
      client: options.client,
      informers,
      recorder,
      view: informerView(informers),
      clock,
      random,
      log,
      ...(options.schedulerNames ? { schedulerNames: options.schedulerNames } : {}),
    })
    const running = scheduler.run(leading)
    informers.start(leading)
    await running
    await informers.stopped()
    for (const b of broadcasters.values()) await b.stopped()
  }
  if (options.leaderElect === false) return lead(signal)
  const elector = new LeaderElector({
    client: options.client,
    clock,
    random,
    log,
    namespace: 'kube-system',
    name: 'kube-scheduler',
    identity: `${options.hostname}_${random.uuid()}`,
  })
  if ((await elector.run(signal, lead)) === 'lost') throw new Error('Leaderelection lost')
}
