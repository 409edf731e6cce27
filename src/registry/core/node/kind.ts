import type { corev1 } from '../../../api/index.ts'
import type { KindRegistration } from '../../../apiserver/registry/strategy.ts'
import { deepCopy } from '../../../base/index.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { column } from '../../columns.ts'
import { validateNode, validateNodeUpdate } from './validation.ts'

type Node = corev1.Node

/** The single and the plural form of the node's Pod range say the same. */
function defaults(node: Node): void {
  const { spec, status } = node
  if (spec.podCIDR && !spec.podCIDRs?.length) spec.podCIDRs = [spec.podCIDR]
  if (spec.podCIDRs?.length && !spec.podCIDR) spec.podCIDR = spec.podCIDRs[0]
  if (status?.capacity && Object.keys(status.capacity).length > 0 && !status.allocatable) status.allocatable = { ...status.capacity }
}

export const nodeKind: KindRegistration<Node> = {
  group: '',
  resource: 'nodes',
  storage: { group: '', version: 'v1', kind: 'Node' },
  strategy: {
    generation: 'none',
    statusOnMain: 'keep',
    defaults,
    prepareForCreate(node) {
      // Dynamic kubelet configuration is gone.
      delete node.spec.configSource
      if (node.status) delete node.status.config
    },
    validate: validateNode,
    prepareForUpdate(node, old) {
      node.status = deepCopy(old.status)
      if (!old.spec.configSource) delete node.spec.configSource
    },
    validateUpdate: validateNodeUpdate,
    selectableFieldLabels: ['spec.unschedulable'],
    selectableFields: (node) => ({ 'spec.unschedulable': node.spec.unschedulable ? 'true' : 'false' }),
  },
  status: {
    prepareForUpdate(node, old) {
      node.spec = deepCopy(old.spec)
      if (!old.status?.config && node.status) delete node.status.config
    },
    validateUpdate: validateNodeUpdate,
  },
  columns: {
    columns: [
      column('Name', { format: 'name' }),
      column('Status'),
      column('Roles'),
      column('Age'),
      column('Version'),
      column('Internal-IP', { priority: 1 }),
      column('External-IP', { priority: 1 }),
      column('OS-Image', { priority: 1 }),
      column('Kernel-Version', { priority: 1 }),
      column('Container-Runtime', { priority: 1 }),
    ],
    cells(node, now) {
      const { metadata, status } = node
      const info = status.nodeInfo
      const address = (type: string) => status.addresses?.find((a) => a.type === type)?.address ?? '<none>'
      const kernel = info?.kernelVersion || '<unknown>'
      return [
        metadata.name,
        nodeState(node),
        roles(node),
        ageOf(metadata.creationTimestamp, now),
        info?.kubeletVersion ?? '',
        address('InternalIP'),
        address('ExternalIP'),
        info?.osImage || '<unknown>',
        info?.architecture ? `${kernel} (${info.architecture})` : kernel,
        info?.containerRuntimeVersion || '<unknown>',
      ]
    },
  },
}

function nodeState(node: Node): string {
  const ready = node.status.conditions?.find((c) => c.type === 'Ready')
  const state = ready ? (ready.status === 'True' ? 'Ready' : 'NotReady') : 'Unknown'
  return node.spec.unschedulable ? `${state},SchedulingDisabled` : state
}

const ROLE = 'node-role.kubernetes.io/'

function roles(node: Node): string {
  const found = new Set<string>()
  for (const [key, value] of Object.entries(node.metadata.labels ?? {})) {
    if (key.startsWith(ROLE) && key.length > ROLE.length) found.add(key.slice(ROLE.length))
    else if (key === 'kubernetes.io/role' && value !== '') found.add(value)
  }
  return found.size === 0 ? '<none>' : [...found].sort().join(',')
}
