import type { EscalationGuard } from '../apiserver/authorization/escalation.ts'
import type { KindRegistration } from '../apiserver/registry/strategy.ts'
import { certificatesKinds } from './certificates/kinds.ts'
import { podKinds } from './core/pod/kinds.ts'
import { rbacKinds } from './rbac/kinds.ts'

export interface KindsOptions {
  /** Keeps users from granting what they do not have. */
  escalation?: EscalationGuard
}

/** Every kind with behaviour of its own. What is not here is served by its schema alone. */
export function serverKinds(options: KindsOptions = {}): KindRegistration[] {
  return [...rbacKinds(options.escalation), ...certificatesKinds, ...podKinds] as KindRegistration[]
}
