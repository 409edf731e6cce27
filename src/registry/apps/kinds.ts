import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { controllerRevisionKind } from './controllerrevision/strategy.ts'
import { daemonSetKind } from './daemonset/strategy.ts'
import { deploymentKind } from './deployment/strategy.ts'
import { replicaSetKind } from './replicaset/strategy.ts'
import { statefulSetKind } from './statefulset/strategy.ts'

export const appsKinds = [deploymentKind, replicaSetKind, statefulSetKind, daemonSetKind, controllerRevisionKind] as KindRegistration[]
