import type { Namespace, NamespaceCondition } from '../../api/core/v1/types.generated.ts'
import { formatTime } from '../../apimachinery/time.ts'

/** What one round of emptying a namespace found. */
export interface NamespaceFindings {
  /** Group versions that could not be discovered. */
  discovery: Map<string, Error>
  /** Errors of deleting, in any order. */
  content: Error[]
  /** `resource.group` to the number of instances left. */
  remaining: Map<string, number>
  /** Finalizers to the number of instances that have them. */
  finalizers: Map<string, number>
}

type Found = { reason: string; message: string } | undefined

const OK: readonly [string, string, string][] = [
  ['NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'],
  ['NamespaceDeletionGroupVersionParsingFailure', 'ParsedGroupVersions', 'All legacy kube types successfully parsed'],
  ['NamespaceDeletionContentFailure', 'ContentDeleted', 'All content successfully deleted, may be waiting on finalization'],
  ['NamespaceContentRemaining', 'ContentRemoved', 'All content successfully removed'],
  ['NamespaceFinalizersRemaining', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
]

function trouble(findings: NamespaceFindings): Record<string, Found> {
  const { discovery, content, remaining, finalizers } = findings
  const counts = (map: Map<string, number>, text: (key: string, n: number) => string) =>
    [...map]
      .map(([k, n]) => text(k, n))
      .sort()
      .join(', ')
  const failures = [...discovery].map(([gv, e]) => `${gv}: ${e.message}`)
  return {
    NamespaceDeletionDiscoveryFailure: discovery.size
      ? {
          reason: 'DiscoveryFailed',
          message: `Discovery failed for some groups, ${discovery.size} failing: unable to retrieve the complete list of server APIs: ${failures.join(', ')}`,
        }
      : undefined,
    NamespaceDeletionContentFailure: content.length
      ? {
          reason: 'ContentDeletionFailed',
          message: `Failed to delete all resource types, ${content.length} remaining: ${content
            .map((e) => e.message)
            .sort()
            .join(', ')}`,
        }
      : undefined,
    NamespaceContentRemaining: remaining.size
      ? { reason: 'SomeResourcesRemain', message: `Some resources are remaining: ${counts(remaining, (r, n) => `${r} has ${n} resource instances`)}` }
      : undefined,
    NamespaceFinalizersRemaining: finalizers.size
      ? {
          reason: 'SomeFinalizersRemain',
          message: `Some content in the namespace has finalizers remaining: ${counts(finalizers, (f, n) => `${f} in ${n} resource instances`)}`,
        }
      : undefined,
  }
}

/** The conditions after this round; undefined when nothing changed. */
export function namespaceConditions(namespace: Namespace, findings: NamespaceFindings, now: number): NamespaceCondition[] | undefined {
  const found = trouble(findings)
  const conditions = [...(namespace.status?.conditions ?? [])]
  let changed = false
  for (const [type, okReason, okMessage] of OK) {
    const bad = found[type]
    const status = bad ? 'True' : 'False'
    const reason = bad?.reason ?? okReason
    const message = bad?.message ?? okMessage
    const i = conditions.findIndex((c) => c.type === type)
    const old = conditions[i]
    if (old && old.status === status && old.reason === reason && old.message === message) continue
    changed = true
    const next: NamespaceCondition = {
      type,
      status,
      lastTransitionTime: old && old.status === status && old.lastTransitionTime ? old.lastTransitionTime : formatTime(now),
      reason,
      message,
    }
    if (old) conditions[i] = next
    else conditions.push(next)
  }
  return changed ? conditions : undefined
}
