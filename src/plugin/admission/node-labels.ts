const OWN_LABELS = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
])

type Labels = Readonly<Record<string, string>> | undefined

const within = (domain: string, ...parents: readonly string[]) => parents.some((p) => domain === p || domain.endsWith(`.${p}`))

/** Whether a kubelet may set this label on its own Node; others could steer workloads to it. */
function mayOwn(label: string): boolean {
  const slash = label.indexOf('/')
  const domain = slash < 0 ? '' : label.slice(0, slash)
  if (within(domain, 'node-restriction.kubernetes.io')) return false
  if (!within(domain, 'kubernetes.io', 'k8s.io')) return true
  return OWN_LABELS.has(label) || within(domain, 'kubelet.kubernetes.io', 'node.kubernetes.io')
}

/** Labels that differ between two states and are not a node's to change, sorted. */
export function forbiddenLabelChanges(now: Labels, before: Labels): string[] {
  const at = (labels: Labels, key: string) => (labels && Object.hasOwn(labels, key) ? labels[key] : undefined)
  const keys = new Set([...Object.keys(now ?? {}), ...Object.keys(before ?? {})])
  return [...keys].filter((key) => at(now, key) !== at(before, key) && !mayOwn(key)).sort()
}
