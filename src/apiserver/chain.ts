import type { Clock } from '../base/clock.ts'
import type { Logger } from '../component-base/component.ts'
import type { Authenticator } from './authentication/authenticator.ts'
import type { Impersonator } from './authentication/impersonation.ts'
import type { Authorizer } from './authorization/authorizer.ts'
import { type AuditSink, withAudit } from './filters/with-audit.ts'
import { withAuthentication } from './filters/with-authentication.ts'
import { withAuthorization } from './filters/with-authorization.ts'
import { withImpersonation } from './filters/with-impersonation.ts'
import { type InFlight, type InFlightLimits, withMaxInFlight } from './filters/with-max-in-flight.ts'
import { withMetrics } from './filters/with-metrics.ts'
import { withPanicRecovery } from './filters/with-panic-recovery.ts'
import { withRequestHeaders } from './filters/with-request-headers.ts'
import { withShutdown } from './filters/with-shutdown.ts'
import { withTimeout } from './filters/with-timeout.ts'
import type { RequestMetrics } from './metrics/request-metrics.ts'
import type { StatusWriter } from './negotiation/status-response.ts'
import type { Handler } from './request/context.ts'

export interface ChainOptions {
  readonly writer: StatusWriter
  readonly clock: Clock
  readonly log: Logger
  readonly authenticator: Authenticator
  readonly impersonator: Impersonator
  readonly authorizer: Authorizer
  readonly audit?: AuditSink
  readonly inFlight: InFlight
  readonly metrics: RequestMetrics
  readonly limits: InFlightLimits
  /** True while the server is going down: new requests are turned away. */
  isShuttingDown(): boolean
  /** A flow control of its own in place of the two limits. */
  readonly flowControl?: (next: Handler) => Handler
}

/** Everything a request passes, outermost first as it reads from bottom to top. */
export function buildChain(router: Handler, options: ChainOptions): Handler {
  let handler = router
  handler = withAuthorization(handler, options.authorizer)
  handler = options.flowControl ? options.flowControl(handler) : withMaxInFlight(handler, options.limits, options.inFlight)
  handler = withImpersonation(handler, options.impersonator)
  handler = withAudit(handler, options.audit)
  handler = withAuthentication(handler, options.authenticator, options.log)
  handler = withTimeout(handler, options.clock)
  handler = withShutdown(handler, options.isShuttingDown)
  handler = withPanicRecovery(handler, options.writer, options.log)
  handler = withMetrics(handler, options.metrics, options.clock)
  handler = withRequestHeaders(handler)
  return handler
}
