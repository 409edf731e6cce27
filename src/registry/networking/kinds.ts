import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { ipAddressKind, serviceCIDRKind } from './addresses.ts'
import { ingressKind } from './ingress.ts'
import { ingressClassKind } from './ingress-class.ts'
import { networkPolicyKind } from './network-policy.ts'

export const networkingKinds = [ingressKind, ingressClassKind, networkPolicyKind, serviceCIDRKind, ipAddressKind] as KindRegistration[]
