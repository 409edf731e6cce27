import { type AuthenticationInfo, authenticationInfoHook } from './authentication-info.ts'
import { flowControlHook } from './flow-control.ts'
import type { HookContext, PostStartHook } from './hook.ts'
import { type KubernetesServiceOptions, kubernetesServiceHook } from './kubernetes-service.ts'
import { legacyTokenTrackingHook } from './legacy-token-tracking.ts'
import { systemNamespacesHook } from './namespaces.ts'
import { priorityClassesHook } from './priority-classes.ts'
import { rbacBootstrapHook } from './rbac.ts'

export type { AuthenticationInfo } from './authentication-info.ts'
export type { HookContext, PostStartHook } from './hook.ts'
export type { KubernetesServiceOptions } from './kubernetes-service.ts'

export interface BootstrapOptions extends HookContext {
  readonly isEnabled: (gate: string) => boolean
  readonly authentication: AuthenticationInfo
  /** Absent: nobody keeps the `kubernetes` Service. */
  readonly service?: KubernetesServiceOptions
}

/** What an API server does when it starts to serve, in the order its health checks list it. All may run at once. */
export function bootstrapHooks(options: BootstrapOptions): PostStartHook[] {
  return [
    systemNamespacesHook(options),
    authenticationInfoHook(options, options.authentication),
    legacyTokenTrackingHook(options),
    rbacBootstrapHook(options, options.isEnabled),
    priorityClassesHook(options),
    flowControlHook(options),
    ...(options.service ? [kubernetesServiceHook(options, options.service)] : []),
  ]
}
