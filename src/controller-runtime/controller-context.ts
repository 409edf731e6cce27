import type { Client } from '../client/client.ts'
import type { EventBroadcaster, InformerFactory } from '../client/index.ts'
import type { ComponentContext } from '../component-base/component.ts'
import type { FeatureGates } from '../component-base/featuregate/feature-gates.ts'

/** What a controller works with. Informers and event sender are shared by all controllers of the manager. */
export interface ControllerContext extends ComponentContext {
  /** Speaks with the controller's own identity. */
  readonly client: Client
  readonly informers: InformerFactory
  readonly events: EventBroadcaster
  readonly gates: FeatureGates
  /** Told of each queue as its workers start. @param caughtUp resolves when all keys that were there have been worked on, or at the end */
  onStart?(caughtUp: Promise<void>): void
}
