import type { KindRegistration } from '../../../apiserver/registry/strategy.ts'
import { podTemplateKind } from '../podtemplate/strategy.ts'
import { replicationControllerKind } from '../replicationcontroller/strategy.ts'
import { podKind } from './strategy.ts'

/** Pods, and the core kinds made of their templates. */
export const podKinds = [podKind, podTemplateKind, replicationControllerKind] as KindRegistration[]
