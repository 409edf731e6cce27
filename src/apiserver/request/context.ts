import type { UserInfo } from '../authentication/authenticator.ts'
import type { ApiRequest, ApiResponse } from './api-request.ts'
import { Query } from './query.ts'
import type { RequestInfo } from './request-info.ts'
import { WarningRecorder } from './warnings.ts'

/** What the pipeline has found out about one request; each filter fills its part. */
export class RequestContext {
  readonly request: ApiRequest
  readonly query: Query
  readonly auditID: string
  /** ms, monotonic. */
  readonly start: number
  info: RequestInfo
  /** Set by authentication; the anonymous user until then. */
  user: UserInfo
  /** Who was authenticated when `user` is impersonated. */
  impersonator: UserInfo | undefined
  /** Headers of the answer that do not depend on the handler. */
  readonly responseHeaders: Record<string, string> = {}
  /** Holds the request past the 60 s of others: watch, exec, logs, proxy. */
  longRunning = false
  /** Notes for the audit event: plugin.name/key to value. */
  auditAnnotations: Map<string, string> | undefined
  private warningRecorder: WarningRecorder | undefined

  constructor(request: ApiRequest, info: RequestInfo, auditID: string, start: number, query: Query = new Query(request.query)) {
    this.request = request
    this.info = info
    this.auditID = auditID
    this.start = start
    this.query = query
    this.user = ANONYMOUS
  }

  warn(text: string): void {
    this.warningRecorder ??= new WarningRecorder()
    this.warningRecorder.add(text)
  }

  annotate(key: string, value: string): void {
    this.auditAnnotations ??= new Map()
    if (!this.auditAnnotations.has(key)) this.auditAnnotations.set(key, value)
  }

  get warnings(): readonly string[] {
    return this.warningRecorder?.headers() ?? []
  }

  get userAgent(): string {
    return this.request.headers['user-agent'] ?? ''
  }
}

export const ANONYMOUS: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] }

/** One step of the pipeline, or its end. Errors are thrown as StatusErrors and become answers in one place. */
export type Handler = (context: RequestContext) => Promise<ApiResponse>
