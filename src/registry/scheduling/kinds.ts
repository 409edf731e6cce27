import type { schedulingv1 } from '../../api/index.ts'
import { newForbidden } from '../../apimachinery/errors.ts'
import { type ErrorList, FieldPath, forbidden, invalid, notSupported } from '../../apimachinery/field.ts'
import { IMMUTABLE } from '../../apimachinery/validation/messages.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { podGroupColumns, priorityClassColumns, workloadColumns } from './columns.ts'

type PriorityClass = schedulingv1.PriorityClass

const MAX_VALUE = 1_000_000_000
const SYSTEM: Readonly<Record<string, number>> = { 'system-node-critical': 2_000_001_000, 'system-cluster-critical': 2_000_000_000 }
const POLICIES = ['PreemptLowerPriority', 'Never']

function systemProblem(name: string, value: number, isDefault: boolean): string | undefined {
  if (!Object.hasOwn(SYSTEM, name)) return `${name} is not a known system priority class`
  if (SYSTEM[name] !== value) return `value of ${name} PriorityClass must be ${SYSTEM[name]}`
  return isDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined
}

function validate(item: PriorityClass): ErrorList {
  const errors: ErrorList = []
  const name = item.metadata.name ?? ''
  const value = item.value ?? 0
  if (name.startsWith('system-')) {
    const problem = systemProblem(name, value, item.globalDefault ?? false)
    if (problem) {
      const text = `priority class names with 'system-' prefix are reserved for system use only. error: ${problem}`
      errors.push(forbidden(FieldPath.root('metadata', 'name'), text))
    }
  } else if (value > MAX_VALUE) errors.push(forbidden(FieldPath.root('value'), `maximum allowed value of a user defined priority is ${MAX_VALUE}`))
  const policy = item.preemptionPolicy
  if (policy !== undefined && !POLICIES.includes(policy)) errors.push(notSupported(FieldPath.root('preemptionPolicy'), policy, POLICIES))
  return errors
}

const priorityClassKind: KindRegistration<PriorityClass> = {
  group: 'scheduling.k8s.io',
  resource: 'priorityclasses',
  storage: { group: 'scheduling.k8s.io', version: 'v1', kind: 'PriorityClass' },
  strategy: {
    generation: 'spec',
    defaults(item) {
      item.preemptionPolicy ??= 'PreemptLowerPriority'
    },
    interceptDelete(item) {
      const name = item.metadata.name ?? ''
      if (!Object.hasOwn(SYSTEM, name)) return 'delete'
      throw newForbidden({ group: 'scheduling.k8s.io', resource: 'priorityclasses' }, name, 'this is a system priority class and cannot be deleted')
    },
    validate,
    validateUpdate(item, old) {
      const errors: ErrorList = []
      if ((item.value ?? 0) !== (old.value ?? 0)) errors.push(forbidden(FieldPath.root('value'), 'may not be changed in an update.'))
      if (item.preemptionPolicy !== old.preemptionPolicy) errors.push(invalid(FieldPath.root('preemptionPolicy'), item.preemptionPolicy ?? null, IMMUTABLE))
      return errors
    },
  },
  columns: priorityClassColumns,
}

const alpha = { group: 'scheduling.k8s.io', version: 'v1alpha2' }

export const schedulingKinds = [
  priorityClassKind,
  { group: alpha.group, resource: 'workloads', storage: { ...alpha, kind: 'Workload' }, strategy: {}, columns: workloadColumns },
  { group: alpha.group, resource: 'podgroups', storage: { ...alpha, kind: 'PodGroup' }, strategy: {}, columns: podGroupColumns },
] as unknown as KindRegistration[]
