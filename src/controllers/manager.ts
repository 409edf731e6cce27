import { setMaxListeners } from 'node:events'
import { resources } from '../api/handles.generated.ts'
import type { Clock } from '../base/clock.ts'
import { yielder } from '../base/yielder.ts'
import { EventBroadcaster, InformerFactory, LeaderElector, referenceTo } from '../client/index.ts'
import { createFeatureGates } from '../component-base/featuregate/feature-gates.ts'
import type { ControllerContext } from '../controller-runtime/index.ts'
import { type ControllerDescriptor, controllers, isControllerEnabled } from './controllers.ts'
import type { ControllerManagerContext } from './options.ts'

const NAME = 'kube-controller-manager'
const FIRST_MS = 1000

/**
 * The controller manager: waits for its lease, runs the controllers, and gives the lease up at the end. Resolves after the
 * signal's abort with nothing left running; rejects when the lease is lost, as the process of the original exits then.
 */
export async function runControllerManager(context: ControllerManagerContext): Promise<void> {
  const { client, clock, random, log, signal, options = {} } = context
  setMaxListeners(0, signal)
  if (options.leaderElect === false) {
    await runControllers(context, signal)
    return
  }
  const over = new AbortController()
  const events = new EventBroadcaster({ client, clock, random, log, signal: over.signal })
  const recorder = events.recorder(NAME)
  const elector = new LeaderElector({
    client,
    clock,
    random,
    log,
    namespace: 'kube-system',
    name: NAME,
    identity: `${options.hostname ?? 'localhost'}_${random.uuid()}`,
    ...(options.leaderElectLeaseDurationMs ? { leaseDurationMs: options.leaderElectLeaseDurationMs } : {}),
    ...(options.leaderElectRenewDeadlineMs ? { renewDeadlineMs: options.leaderElectRenewDeadlineMs } : {}),
    ...(options.leaderElectRetryPeriodMs ? { retryPeriodMs: options.leaderElectRetryPeriodMs } : {}),
    onEvent: (message, lease) => recorder.event(referenceTo(resources.coordinationv1.leases, lease), 'Normal', 'LeaderElection', message),
  })
  const outcome = await elector.run(signal, (leading) => runControllers(context, leading)).finally(() => over.abort(new Error('no longer leading')))
  await events.stopped().catch(() => {})
  if (outcome === 'lost') throw new Error('leaderelection lost')
}

/** Runs the enabled controllers until the signal aborts. */
async function runControllers(context: ControllerManagerContext, signal: AbortSignal): Promise<void> {
  const { client, clock, random, log, options = {} } = context
  setMaxListeners(0, signal)
  const informers = new InformerFactory({ client, clock, random, log })
  const events = new EventBroadcaster({ client, clock, random, log, signal })
  const gates = context.gates ?? createFeatureGates()
  const list = options.controllers ?? ['*']
  const running: Promise<void>[] = []
  const ahead: Promise<void>[] = []
  const start = (controller: ControllerDescriptor) => {
    if (!isControllerEnabled(controller, list)) {
      log.v(1).info('Controller is disabled', { controller: controller.name })
      return
    }
    const own: ControllerContext = {
      client: options.clientFor?.(controller.account) ?? client,
      clock,
      random,
      log: log.with({ logger: controller.name }),
      signal,
      informers,
      events,
      gates,
      ...(controller.first ? { onStart: (caughtUp: Promise<void>) => void ahead.push(caughtUp) } : {}),
    }
    const run = controller.start(own, options)
    if (!run) {
      log.v(1).info('Skipping controller', { controller: controller.name })
      return
    }
    running.push(run.catch((error) => log.error('Controller failed', { controller: controller.name, err: String((error as Error)?.stack ?? error) })))
  }
  for (const controller of controllers) if (controller.first) start(controller)
  informers.start(signal)
  // What they do first shall not queue behind everybody's lists; after a moment the others start whatever holds these up.
  await sooner(clock, FIRST_MS, signal, async (late) => {
    await informers.waitForSync(late)
    await clock.sleep(0, late)
    await Promise.all(ahead)
  })
  const rest = yielder()
  for (const controller of controllers) {
    if (controller.first || signal.aborted) continue
    start(controller)
    await rest()
  }
  log.v(1).info('Started controllers', { count: running.length })
  await Promise.all(running)
  await aborted(signal)
  await informers.stopped()
  await events.stopped()
}

/** The end of the work, but at most `ms` and never after the signal's abort. The work's own signal says that nobody waits any more. */
function sooner(clock: Clock, ms: number, signal: AbortSignal, work: (late: AbortSignal) => Promise<void>): Promise<void> {
  const late = new AbortController()
  setMaxListeners(0, late.signal)
  return new Promise<void>((resolve) => {
    const end = () => {
      timer.cancel()
      signal.removeEventListener('abort', end)
      late.abort(new Error('nobody waits any more'))
      resolve()
    }
    const timer = clock.setTimeout(end, ms)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    work(late.signal).then(end, end)
  })
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
