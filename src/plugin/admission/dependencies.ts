import type { Attributes, Decision } from '../../apiserver/authorization/authorizer.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { InformerFactory } from '../../client/cache/informer-factory.ts'
import type { Client } from '../../client/client.ts'

/** What admission plugins are given: the server's client of itself, caches over it, and the authorizer for plugins that ask what a user may do. */
export interface AdmissionDependencies {
  readonly client: Client
  readonly informers: InformerFactory
  readonly clock: Clock
  readonly random: Random
  readonly isEnabled: (gate: string) => boolean
  readonly authorize: (attributes: Attributes) => Decision | Promise<Decision>
}
