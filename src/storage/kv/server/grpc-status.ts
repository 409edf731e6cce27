import { CompactedError, FutureRevisionError, LeaseExistsError, LeaseNotFoundError, RequestTooLargeError, StoreUnavailableError } from '../kv.ts'
import { DuplicateKeyError } from '../mvcc/evaluate.ts'

/** gRPC's numbers for what can go wrong here. */
const UNKNOWN = 2
const INVALID_ARGUMENT = 3
const NOT_FOUND = 5
const RESOURCE_EXHAUSTED = 8
const FAILED_PRECONDITION = 9
const OUT_OF_RANGE = 11
const UNAVAILABLE = 14

/** An error that carries its gRPC code. */
export class GrpcStatusError extends Error {
  readonly code: number
  readonly details: string
  constructor(code: number, message: string) {
    super(message)
    this.name = 'GrpcStatusError'
    this.code = code
    this.details = message
  }
}

export function invalid(message: string): GrpcStatusError {
  return new GrpcStatusError(INVALID_ARGUMENT, message)
}

/** Any error as etcd would answer it. */
export function grpcError(error: unknown): GrpcStatusError {
  if (error instanceof GrpcStatusError) return error
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof CompactedError || error instanceof FutureRevisionError) return new GrpcStatusError(OUT_OF_RANGE, message)
  if (error instanceof LeaseNotFoundError) return new GrpcStatusError(NOT_FOUND, message)
  if (error instanceof LeaseExistsError) return new GrpcStatusError(FAILED_PRECONDITION, message)
  if (error instanceof DuplicateKeyError || error instanceof RequestTooLargeError) return new GrpcStatusError(INVALID_ARGUMENT, message)
  if (error instanceof StoreUnavailableError) return new GrpcStatusError(UNAVAILABLE, message)
  if (message.includes('database space exceeded')) return new GrpcStatusError(RESOURCE_EXHAUSTED, message)
  if (message === 'etcdserver: too large lease TTL') return new GrpcStatusError(OUT_OF_RANGE, message)
  return new GrpcStatusError(UNKNOWN, message)
}
