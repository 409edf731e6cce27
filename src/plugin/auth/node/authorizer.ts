import { parseFieldSelector } from '../../../apimachinery/fields.ts'
import { quote } from '../../../apimachinery/quote.ts'
import type { Attributes, Authorizer, Decision } from '../../../apiserver/authorization/authorizer.ts'
import { defaultPolicy } from '../rbac/bootstrap-policy.ts'
import { ruleAllows } from '../rbac/rules.ts'
import type { NodeGraph, Vertex } from './graph.ts'
import { nodeIdentity } from './identity.ts'

const ALLOW: Decision = { decision: 'allow' }
const NO_OPINION: Decision = { decision: 'noOpinion' }
const because = (reason: string): Decision => ({ decision: 'noOpinion', reason })
const LEASE_NAMESPACE = 'kube-node-lease'

/**
 * What kubelets may do: the rules of system:node, and of objects that hold secrets or belong to other nodes only those that
 * have to do with the node.
 */
export function nodeAuthorizer(graph: NodeGraph, isEnabled: (gate: string) => boolean): Omit<Authorizer, 'authorize'> & { authorize(a: Attributes): Decision } {
  const rules = defaultPolicy(isEnabled).clusterRoles.find((role) => role.metadata.name === 'system:node')?.rules ?? []
  const readsAccounts = isEnabled('KubeletServiceAccountTokenForCredentialProviders')

  const related = (node: string, vertex: Vertex, { namespace, name }: Attributes): Decision => {
    if (name === '') return because('No Object name found')
    return graph.isRelated(node, vertex, namespace, name) ? ALLOW : because(`no relationship found between node '${node}' and this object`)
  }
  const read = (node: string, vertex: Vertex, a: Attributes): Decision => {
    if (!['get', 'list', 'watch'].includes(a.verb)) return because('can only read resources of this type')
    if (a.subresource !== '') return because('cannot read subresource')
    if (a.namespace === '') return because('can only read namespaced object of this type')
    return related(node, vertex, a)
  }
  const get = (node: string, vertex: Vertex, a: Attributes): Decision => {
    if (a.verb !== 'get' || a.name === '') return because('can only get individual resources of this type')
    if (a.subresource !== '') return because('cannot get subresource')
    return related(node, vertex, a)
  }
  const byResource: Readonly<Record<string, (node: string, a: Attributes) => Decision>> = {
    '/secrets': (node, a) => read(node, 'secrets', a),
    '/configmaps': (node, a) => read(node, 'configmaps', a),
    '/persistentvolumeclaims': (node, a) => (a.subresource === 'status' ? claimStatus(node, a) : get(node, 'persistentvolumeclaims', a)),
    '/persistentvolumes': (node, a) => get(node, 'persistentvolumes', a),
    'resource.k8s.io/resourceclaims': (node, a) => get(node, 'resourceclaims', a),
    'storage.k8s.io/volumeattachments': (node, a) => get(node, 'volumeattachments', a),
    '/serviceaccounts': (node, a) => (a.subresource === '' && readsAccounts ? get(node, 'serviceaccounts', a) : createToken(node, a)),
    'coordination.k8s.io/leases': lease,
    'storage.k8s.io/csinodes': csiNode,
    'resource.k8s.io/resourceslices': slice,
    '/nodes': ownNode,
    '/pods': pod,
  }
  return {
    name: 'Node',
    authorize(attributes) {
      const node = nodeIdentity(attributes.user)
      if (!node) return NO_OPINION
      if (node.name === '') return because(`unknown node for user ${quote(attributes.user.name)}`)
      if (attributes.resourceRequest) {
        const key = `${attributes.apiGroup}/${attributes.resource}`
        if (Object.hasOwn(byResource, key)) return (byResource[key] as (node: string, a: Attributes) => Decision)(node.name, attributes)
      }
      return rules.some((rule) => ruleAllows(rule, attributes)) ? ALLOW : NO_OPINION
    },
    async rulesFor(user) {
      const isNode = nodeIdentity(user) !== undefined
      const errors = isNode ? ['node authorizer does not support user rule resolution'] : []
      return { resourceRules: [], nonResourceRules: [], incomplete: isNode, errors }
    },
  }

  function claimStatus(node: string, a: Attributes): Decision {
    if (!['get', 'update', 'patch'].includes(a.verb)) return because('can only get/update/patch this type')
    return related(node, 'persistentvolumeclaims', a)
  }
  function createToken(node: string, a: Attributes): Decision {
    if (a.verb !== 'create' || a.name === '') return because('can only create tokens for individual service accounts')
    if (a.subresource !== 'token') return because('can only create token subresource of serviceaccount')
    return related(node, 'serviceaccounts', a)
  }
  function lease(node: string, a: Attributes): Decision {
    if (!['get', 'create', 'update', 'patch', 'delete'].includes(a.verb)) return because('can only get, create, update, patch, or delete a node lease')
    if (a.namespace !== LEASE_NAMESPACE) return because(`can only access leases in the ${quote(LEASE_NAMESPACE)} system namespace`)
    // The name of a new one is not known here: admission looks at it.
    if (a.verb !== 'create' && a.name !== node) return because('can only access node lease with the same name as the requesting node')
    return ALLOW
  }
  function csiNode(node: string, a: Attributes): Decision {
    if (!['get', 'create', 'update', 'patch', 'delete'].includes(a.verb)) return because('can only get, create, update, patch, or delete a CSINode')
    if (a.subresource !== '') return because('cannot authorize CSINode subresources')
    if (a.verb !== 'create' && a.name !== node) return because('can only access CSINode with the same name as the requesting node')
    return ALLOW
  }
  function slice(node: string, a: Attributes): Decision {
    if (a.subresource !== '') return because('cannot authorize ResourceSlice subresources')
    switch (a.verb) {
      case 'create':
        return ALLOW
      case 'get':
      case 'update':
      case 'patch':
      case 'delete':
        return related(node, 'resourceslices', a)
      case 'list':
      case 'watch':
      case 'deletecollection':
        return selects(a.fieldSelector, 'spec.nodeName', node)
          ? ALLOW
          : because('can only list/watch/deletecollection resourceslices with nodeName field selector')
      default:
        return because('only the following verbs are allowed for a ResourceSlice: [get watch list create update patch delete deletecollection]')
    }
  }
  function ownNode(node: string, a: Attributes): Decision {
    if (a.subresource === '') {
      // Whose object is written is for admission, which knows the name also on create.
      if (['create', 'update', 'patch'].includes(a.verb)) return ALLOW
      if (['get', 'list', 'watch'].includes(a.verb)) {
        if (a.name === node) return ALLOW
        if (a.name === '') return because(`node '${node}' cannot read all nodes, only its own Node object`)
        return because(`node '${node}' cannot read '${a.name}', only its own Node object`)
      }
    } else if (a.subresource === 'status' && ['update', 'patch'].includes(a.verb)) {
      return ALLOW
    }
    return NO_OPINION
  }
  function pod(node: string, a: Attributes): Decision {
    switch (a.subresource) {
      case '':
        if (a.verb === 'get') return related(node, 'pods', a)
        if (a.verb === 'list' || a.verb === 'watch') {
          if (selects(a.fieldSelector, 'spec.nodeName', node)) return ALLOW
          return a.name === '' ? because('can only list/watch pods with spec.nodeName field selector') : related(node, 'pods', a)
        }
        return a.verb === 'create' || a.verb === 'delete' ? ALLOW : NO_OPINION
      case 'status':
        return a.verb === 'update' || a.verb === 'patch' ? ALLOW : NO_OPINION
      case 'eviction':
        return a.verb === 'create' ? ALLOW : NO_OPINION
      default:
        return NO_OPINION
    }
  }
}

/** Whether a field selector demands this value. */
function selects(selector: string | undefined, field: string, value: string): boolean {
  if (!selector) return false
  try {
    return parseFieldSelector(selector).exactMatch(field) === value
  } catch {
    return false
  }
}
