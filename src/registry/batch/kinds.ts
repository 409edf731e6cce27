import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { cronJobKind } from './cronjob/strategy.ts'
import { jobKind } from './job/strategy.ts'

export const batchKinds = [jobKind, cronJobKind] as KindRegistration[]
