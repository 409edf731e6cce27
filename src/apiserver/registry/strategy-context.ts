import type { GroupVersion } from '../../apimachinery/object.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { UserInfo } from '../authentication/authenticator.ts'
import type { StrategyContext } from './strategy.ts'

/** What all writes of a server share. */
export interface WriteEnvironment {
  readonly clock: Clock
  readonly random: Random
  isFeatureEnabled(gate: string): boolean
}

/** The context of one write. */
export class RequestStrategyContext implements StrategyContext {
  private readonly environment: WriteEnvironment
  readonly user: UserInfo | undefined
  readonly namespace: string
  readonly dryRun: boolean
  readonly requestVersion?: GroupVersion

  constructor(environment: WriteEnvironment, user: UserInfo | undefined, namespace: string, dryRun: boolean, requestVersion?: GroupVersion) {
    this.environment = environment
    this.user = user
    this.namespace = namespace
    this.dryRun = dryRun
    if (requestVersion) this.requestVersion = requestVersion
  }

  now(): number {
    return this.environment.clock.now()
  }

  uuid(): string {
    return this.environment.random.uuid()
  }

  random(below: number): number {
    return this.environment.random.int(below)
  }

  isFeatureEnabled(gate: string): boolean {
    return this.environment.isFeatureEnabled(gate)
  }
}
