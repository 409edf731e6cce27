import type { EscalationGuard } from '../apiserver/authorization/escalation.ts'
import type { KindRegistration } from '../apiserver/registry/strategy.ts'
import { admissionRegistrationKinds } from './admissionregistration/kinds.ts'
import { apiRegistrationKinds } from './apiregistration/kinds.ts'
import { appsKinds } from './apps/kinds.ts'
import { autoscalingKinds } from './autoscaling/kinds.ts'
import { batchKinds } from './batch/kinds.ts'
import { certificatesKinds } from './certificates/kinds.ts'
import { coordinationKinds } from './coordination/kinds.ts'
import { configMapKind } from './core/config-map/kind.ts'
import { endpointsKind } from './core/endpoints/kind.ts'
import { eventKind } from './core/event/kind.ts'
import { limitRangeKind } from './core/limit-range/kind.ts'
import { namespaceKind } from './core/namespace/kind.ts'
import { nodeKind } from './core/node/kind.ts'
import { persistentVolumeKind } from './core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from './core/persistent-volume-claim/kind.ts'
import { podKinds } from './core/pod/kinds.ts'
import { resourceQuotaKind } from './core/resource-quota/kind.ts'
import { secretKind } from './core/secret/kind.ts'
import { serviceKind } from './core/service/kind.ts'
import type { ServicePools } from './core/service/reservation.ts'
import { serviceAccountKind } from './core/service-account/kind.ts'
import { endpointSliceKind } from './discovery/kinds.ts'
import { flowControlKinds } from './flowcontrol/kinds.ts'
import { networkingKinds } from './networking/kinds.ts'
import { nodeKinds } from './node/kinds.ts'
import { policyKinds } from './policy/kinds.ts'
import { rbacKinds } from './rbac/kinds.ts'
import { resourceKinds } from './resource/kinds.ts'
import { schedulingKinds } from './scheduling/kinds.ts'
import { storageKinds } from './storage/kinds.ts'

export interface KindsOptions {
  /** Keeps users from granting what they do not have. */
  escalation?: EscalationGuard
  /** Where Services get addresses and ports; without it they get none. */
  services?: ServicePools
}

/** Every kind with behaviour of its own. What is not here is served by its schema alone. */
export function serverKinds(options: KindsOptions = {}): KindRegistration[] {
  return [
    ...rbacKinds(options.escalation),
    ...certificatesKinds,
    ...podKinds,
    ...appsKinds,
    ...batchKinds,
    ...storageKinds,
    persistentVolumeKind,
    persistentVolumeClaimKind,
    configMapKind,
    eventKind,
    secretKind,
    serviceAccountKind,
    namespaceKind,
    nodeKind,
    limitRangeKind,
    serviceKind(options.services),
    endpointsKind,
    endpointSliceKind,
    ...networkingKinds,
    ...policyKinds,
    ...autoscalingKinds,
    ...schedulingKinds,
    ...nodeKinds,
    ...coordinationKinds,
    ...flowControlKinds,
    ...resourceKinds,
    ...admissionRegistrationKinds,
    ...apiRegistrationKinds,
    resourceQuotaKind,
  ] as KindRegistration[]
}
