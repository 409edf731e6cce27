import type { Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PreferredSchedulingTerm } from '../api/core/v1/types.generated.ts'

type Labels = Readonly<Record<string, string>> | undefined

const lookUp = (labels: Labels, key: string): string | undefined => (labels && Object.hasOwn(labels, key) ? labels[key] : undefined)

function integer(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[+-]?[0-9]{1,19}$/.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined
}

/** One requirement of a node selector against labels. `Gt` and `Lt` compare integers; anything unreadable does not match. */
export function matchesNodeRequirement(requirement: NodeSelectorRequirement, labels: Labels): boolean {
  const value = lookUp(labels, requirement.key)
  const values = requirement.values ?? []
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'Gt':
    case 'Lt': {
      const have = integer(value)
      const want = integer(values[0])
      if (have === undefined || want === undefined || values.length !== 1) return false
      return requirement.operator === 'Gt' ? have > want : have < want
    }
    default:
      return false
  }
}

/** Terms may name `metadata.name` in matchFields, with `In` or `NotIn` and exactly one value. */
function matchesField(requirement: NodeSelectorRequirement, name: string): boolean {
  const [value] = requirement.values ?? []
  if (requirement.key !== 'metadata.name' || requirement.values?.length !== 1) return false
  if (requirement.operator === 'In') return value === name
  return requirement.operator === 'NotIn' && value !== name
}

const isEmptyTerm = (term: NodeSelectorTerm): boolean => !term.matchExpressions?.length && !term.matchFields?.length

/** All requirements of the term hold; an empty term matches nothing. */
export function matchesNodeSelectorTerm(term: NodeSelectorTerm, node: Node): boolean {
  if (isEmptyTerm(term)) return false
  const name = node.metadata.name ?? ''
  return (
    (term.matchExpressions ?? []).every((r) => matchesNodeRequirement(r, node.metadata.labels)) && (term.matchFields ?? []).every((r) => matchesField(r, name))
  )
}

/** Any term matches. */
export function matchesNodeSelector(selector: NodeSelector, node: Node): boolean {
  return (selector.nodeSelectorTerms ?? []).some((term) => matchesNodeSelectorTerm(term, node))
}

/** Any term matches a node of which only the labels are known: fields match nothing. */
export function matchesNodeLabels(selector: NodeSelector, labels: Labels): boolean {
  return matchesNodeSelector(selector, { metadata: labels ? { labels } : {} } as Node)
}

/** spec.nodeSelector and the required node affinity of a Pod (or of anything with the same fields) hold on the node. */
export function matchesRequiredNodeAffinity(pod: Pick<Pod, 'spec'>, node: Node): boolean {
  const spec = pod.spec
  for (const [key, value] of Object.entries(spec?.nodeSelector ?? {})) if (lookUp(node.metadata.labels, key) !== value) return false
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return !required || matchesNodeSelector(required, node)
}

/** Sum of the weights of the preferred terms that match; a term with nothing in it matches every node. */
export function preferredNodeAffinityScore(terms: readonly PreferredSchedulingTerm[] | undefined, node: Node): number {
  let sum = 0
  for (const { weight, preference } of terms ?? []) {
    if (weight !== 0 && matchesNodeSelectorTerm(preference, node)) sum += weight
  }
  return sum
}
