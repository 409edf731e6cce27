import type { KindRegistration } from '../../../apiserver/registry/strategy.ts'
import { podKind } from './strategy.ts'

export const podKinds = [podKind] as KindRegistration[]
