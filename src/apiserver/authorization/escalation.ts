import type { KubeObject } from '../../apimachinery/object.ts'
import type { UserInfo } from '../authentication/authenticator.ts'

/** Keeps users from giving others, or themselves, more than they have. Asked before a role or binding is written. */
export interface EscalationGuard {
  /** @param old undefined on create. @throws StatusError Forbidden */
  checkRole(role: KubeObject, old: KubeObject | undefined, user: UserInfo, namespace: string): void
  /** @throws StatusError Forbidden, or NotFound when the role is not there to be judged */
  checkBinding(binding: KubeObject, old: KubeObject | undefined, user: UserInfo, namespace: string): void
}
