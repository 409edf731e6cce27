import type { CustomResourceDefinition, CustomResourceDefinitionCondition, CustomResourceDefinitionNames } from '../api/apiextensions/v1/types.generated.ts'
import { quote } from '../apimachinery/quote.ts'

type Condition = CustomResourceDefinitionCondition

/** The names a definition has been given, and what became of those it asked for. */
export interface NameVerdict {
  readonly acceptedNames: CustomResourceDefinitionNames
  readonly namesAccepted: Omit<Condition, 'lastTransitionTime'>
  readonly established: Omit<Condition, 'lastTransitionTime'>
}

/** Judges a definition's names against those that others of its group hold. */
export function judgeNames(definition: CustomResourceDefinition, others: readonly CustomResourceDefinition[]): NameVerdict {
  const resources = new Set<string>()
  const kinds = new Set<string>()
  for (const other of others) {
    if (other.spec.group !== definition.spec.group || other.metadata.name === definition.metadata.name) continue
    const names = other.status?.acceptedNames
    if (!names) continue
    for (const r of [names.plural, names.singular ?? '', ...(names.shortNames ?? [])]) resources.add(r)
    for (const k of [names.kind, names.listKind ?? '']) kinds.add(k)
  }
  resources.delete('')
  kinds.delete('')
  const wanted = definition.spec.names
  const held = definition.status?.acceptedNames
  const accepted: CustomResourceDefinitionNames = { plural: held?.plural ?? '', kind: held?.kind ?? '' }
  let problem: { reason: string; name: string } | undefined
  const settle = (name: string, taken: ReadonlySet<string>, reason: string, accept: () => void, keep: () => void) => {
    if (name !== '' && taken.has(name)) {
      problem = { reason, name }
      keep()
    } else accept()
  }
  settle(
    wanted.plural,
    resources,
    'PluralConflict',
    () => {
      accepted.plural = wanted.plural
    },
    () => {},
  )
  settle(
    wanted.singular ?? '',
    resources,
    'SingularConflict',
    () => {
      if (wanted.singular) accepted.singular = wanted.singular
    },
    () => {
      if (held?.singular) accepted.singular = held.singular
    },
  )
  const taken = (wanted.shortNames ?? []).filter((n) => resources.has(n))
  if (taken.length > 0) {
    problem = { reason: 'ShortNamesConflict', name: taken[0] as string }
    if (held?.shortNames) accepted.shortNames = held.shortNames
  } else if (wanted.shortNames) accepted.shortNames = wanted.shortNames
  settle(
    wanted.kind,
    kinds,
    'KindConflict',
    () => {
      accepted.kind = wanted.kind
    },
    () => {},
  )
  settle(
    wanted.listKind ?? '',
    kinds,
    'ListKindConflict',
    () => {
      if (wanted.listKind) accepted.listKind = wanted.listKind
    },
    () => {
      if (held?.listKind) accepted.listKind = held.listKind
    },
  )
  if (wanted.categories) accepted.categories = wanted.categories
  const isEstablished = definition.status?.conditions?.some((c) => c.type === 'Established' && c.status === 'True') ?? false
  if (problem) {
    return {
      acceptedNames: accepted,
      namesAccepted: { type: 'NamesAccepted', status: 'False', reason: problem.reason, message: `${quote(problem.name)} is already in use` },
      established: isEstablished
        ? { type: 'Established', status: 'True', reason: 'InitialNamesAccepted', message: 'the initial names have been accepted' }
        : { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' },
    }
  }
  return {
    acceptedNames: accepted,
    namesAccepted: { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' },
    established: { type: 'Established', status: 'True', reason: 'InitialNamesAccepted', message: 'the initial names have been accepted' },
  }
}

export function conditionOf(definition: CustomResourceDefinition, type: string): Condition | undefined {
  return definition.status?.conditions?.find((c) => c.type === type)
}

/** Conditions with one set; its time moves when its status does. */
export function withCondition(
  conditions: readonly Condition[] | null | undefined,
  condition: Omit<Condition, 'lastTransitionTime'>,
  time: string,
): Condition[] {
  const all = [...(conditions ?? [])]
  const at = all.findIndex((c) => c.type === condition.type)
  const old = all[at]
  const { type, status, ...rest } = condition
  const next = {
    type,
    status,
    lastTransitionTime: old && old.status === status && old.lastTransitionTime ? old.lastTransitionTime : time,
    ...rest,
  } as Condition
  if (at < 0) all.push(next)
  else all[at] = next
  return all
}
