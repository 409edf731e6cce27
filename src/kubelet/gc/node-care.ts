import type { Clock } from '../../base/clock.ts'
import type { EventRecorder } from '../../client/record/event-recorder.ts'
import type { Logger } from '../../component-base/component.ts'
import type { EvictionManager } from '../eviction/eviction-manager.ts'
import type { NodeManager } from '../node/node-manager.ts'
import type { ContainerRuntime } from '../runtime/runtime.ts'
import type { ImageGc } from './image-gc.ts'
import { rotateLogs } from './log-rotation.ts'

const CARE_MS = 10_000
/** Images are looked after every five minutes. */
const IMAGE_GC_ROUNDS = 30

export interface NodeCareOptions {
  runtime: ContainerRuntime
  clock: Clock
  log: Logger
  recorder: EventRecorder
  node: NodeManager
  imageGc: ImageGc
  eviction: EvictionManager | undefined
}

/** Memory, disk, logs and images of a node with real containers. */
export async function careForNode({ runtime, clock, log, recorder, node, imageGc, eviction }: NodeCareOptions, signal: AbortSignal): Promise<void> {
  let rounds = 0
  let imageFailures = 0
  while (!signal.aborted) {
    await clock.sleep(CARE_MS, signal).catch(() => {})
    if (signal.aborted) return
    try {
      await eviction?.round()
      await rotateLogs({ runtime, clock })
    } catch (error) {
      log.v(2).info('care for the node failed', { err: (error as Error).message })
    }
    if (!eviction || ++rounds % IMAGE_GC_ROUNDS !== 0) continue
    try {
      const problem = await imageGc.collect()
      if (problem) recorder.event(node.reference(), 'Warning', 'FreeDiskSpaceFailed', problem)
      imageFailures = 0
    } catch (error) {
      if (++imageFailures > 1) recorder.event(node.reference(), 'Warning', 'ImageGCFailed', (error as Error).message)
    }
  }
}
