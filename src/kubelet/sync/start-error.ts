/** Why a container could not be started: what its waiting state shows. */
export class StartError extends Error {
  readonly reason: string
  /** When the next try makes sense, in ms since the epoch; undefined is the usual retry. */
  readonly retryAt: number | undefined
  constructor(reason: string, message: string, retryAt?: number) {
    super(message)
    this.name = 'StartError'
    this.reason = reason
    this.retryAt = retryAt
  }
}
