import type { GroupVersionKind, GroupVersionResource, KubeObject } from '../../apimachinery/object.ts'
import type { UserInfo } from '../authentication/authenticator.ts'

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

/** One write on its way in. `object` is the new state and may be changed in place by `admit`; `oldObject` is frozen. */
export interface AdmissionAttributes {
  readonly operation: AdmissionOperation
  readonly resource: GroupVersionResource
  readonly kind: GroupVersionKind
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  /** Absent for DELETE. For CONNECT the options object. */
  object?: KubeObject
  readonly oldObject?: KubeObject
  readonly options?: Record<string, unknown>
  readonly user: UserInfo
  readonly dryRun: boolean
  /** Adds an audit annotation `plugin.name/key`; the first value of a key stays. */
  annotate(key: string, value: string): void
  /** Adds a Warning header. */
  warn(message: string): void
  /** After `admit` ran once and a webhook changed the object: plugins may be asked again. */
  readonly reinvocation?: boolean
}

/** Throws a StatusError (mostly `newForbidden`) to refuse. */
export interface AdmissionPlugin {
  /** Upstream's name, such as `NamespaceLifecycle`. */
  readonly name: string
  handles(operation: AdmissionOperation): boolean
  /**
   * Whether the plugin may have anything to say about a resource or its subresources; asked once per resource, so it must not depend on
   * anything else. @default all
   */
  looksAt?(resource: GroupVersionResource): boolean
  /** Mutation; runs first, in chain order. */
  admit?(attributes: AdmissionAttributes): void | Promise<void>
  /** Runs after all mutation, on the final object. */
  validate?(attributes: AdmissionAttributes): void | Promise<void>
}
