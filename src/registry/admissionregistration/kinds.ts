import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { policyKinds } from './policies.ts'
import { webhookKinds } from './webhooks.ts'

export const admissionRegistrationKinds: KindRegistration[] = [...webhookKinds, ...policyKinds]
