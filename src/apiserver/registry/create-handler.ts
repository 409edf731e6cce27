import type { KubeObject } from '../../apimachinery/object.ts'
import type { UserInfo } from '../authentication/authenticator.ts'

/** What a create-only resource may know of its request. */
export interface CreateContext {
  readonly user: UserInfo
  /** '' for cluster-scoped ones. */
  readonly namespace: string
  /** Of the parent, for a subresource; else ''. */
  readonly name: string
  readonly dryRun: boolean
  annotate(key: string, value: string): void
  warn(message: string): void
}

/**
 * A resource or subresource that is only ever posted to and never stored: reviews, token requests. The server decodes, defaults and
 * admits the object, then answers 201 with what `create` returns. The object handed in belongs to the handler.
 */
export interface CreateHandler<T extends KubeObject = KubeObject> {
  readonly group: string
  readonly resource: string
  readonly subresource?: string
  /** Fills defaults of the posted object in place. */
  defaults?(object: T): void
  /** @throws StatusError */
  create(object: T, context: CreateContext): Promise<KubeObject>
}
