import { type authenticationv1, type certificatesv1, type coordinationv1, type corev1, resources, type resourcev1, type storagev1 } from '../../api/index.ts'
import { newNotFound } from '../../apimachinery/errors.ts'
import { quote } from '../../apimachinery/quote.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import { deepEqual } from '../../base/index.ts'
import { getOrUndefined } from '../../client/rest/client.ts'
import { parseSigningRequest } from '../../component-base/x509/index.ts'
import { nodeIdentity } from '../auth/node/identity.ts'
import type { AdmissionDependencies } from './dependencies.ts'
import { forbiddenLabelChanges } from './node-labels.ts'
import { checkMirrorPodOf } from './node-mirror-pod.ts'
import { nodeTokenAudience } from './node-token-audience.ts'
import { refused } from './refusal.ts'

const LEASE_NAMESPACE = 'kube-node-lease'

/** Keeps a node's kubelet to its own Node, its own Pods and what they need: a node that was taken over must not reach others. */
export function nodeRestriction(deps: AdmissionDependencies): AdmissionPlugin {
  const { client, informers } = deps
  const pods = informers.informer(resources.corev1.pods).lister
  const nodes = informers.informer(resources.corev1.nodes).lister
  const audienceAllowed = nodeTokenAudience(deps)

  const findPod = async (namespace: string, name: string): Promise<corev1.Pod> => {
    const found = pods.get(`${namespace}/${name}`) ?? (await getOrUndefined(client.resource(resources.corev1.pods).namespace(namespace), name))
    if (!found) throw newNotFound({ group: '', resource: 'pods' }, name)
    return found
  }
  const findNode = async (name: string): Promise<corev1.Node> => {
    const found = nodes.get(name) ?? (await getOrUndefined(client.resource(resources.corev1.nodes), name))
    if (!found) throw newNotFound({ group: '', resource: 'nodes' }, name)
    return found
  }

  async function admitPod(a: AdmissionAttributes, node: string): Promise<void> {
    switch (a.subresource) {
      case '':
        if (a.operation === 'CREATE') {
          const text = checkMirrorPodOf(node, a.object as corev1.Pod) ?? (await wrongNodeUid(node, a.object as corev1.Pod))
          if (text) throw refused(a, text)
        } else if (a.operation === 'DELETE') {
          const pod = (a.oldObject as corev1.Pod | undefined) ?? (await findPod(a.namespace, a.name))
          if (pod.spec.nodeName !== node) throw refused(a, `node ${quote(node)} can only delete pods with spec.nodeName set to itself`)
        } else {
          throw refused(a, `unexpected operation ${quote(a.operation)}, node ${quote(node)} can only create and delete mirror pods`)
        }
        return
      case 'status':
        return admitPodStatus(a, node)
      case 'eviction': {
        if (a.operation !== 'CREATE') throw refused(a, `unexpected operation ${quote(a.operation)}`)
        const pod = await findPod(a.namespace, a.object?.metadata.name || a.name)
        if (pod.spec.nodeName !== node) throw refused(a, `node ${node} can only evict pods with spec.nodeName set to itself`)
        return
      }
      default:
        throw refused(a, `unexpected pod subresource ${quote(a.subresource)}, only 'status' and 'eviction' are allowed`)
    }
  }
  async function wrongNodeUid(node: string, pod: corev1.Pod): Promise<string | undefined> {
    const { uid } = (await findNode(node)).metadata
    const owner = pod.metadata.ownerReferences?.[0]
    return owner?.uid === uid ? undefined : `node ${node} UID mismatch: expected ${uid} got ${owner?.uid}`
  }
  function admitPodStatus(a: AdmissionAttributes, node: string): void {
    if (a.operation !== 'UPDATE') throw refused(a, `unexpected operation ${quote(a.operation)}`)
    const pod = a.object as corev1.Pod
    const old = a.oldObject as corev1.Pod
    if (old.spec.nodeName !== node) throw refused(a, `node ${quote(node)} can only update pod status for pods with spec.nodeName set to itself`)
    if (!deepEqual(old.metadata.labels ?? {}, pod.metadata.labels ?? {})) throw refused(a, `node ${quote(node)} cannot update labels through pod status`)
    if (!deepEqual(old.status?.resourceClaimStatuses ?? [], pod.status?.resourceClaimStatuses ?? [])) {
      throw refused(a, `node ${quote(node)} cannot update resource claim statues`)
    }
    if (!deepEqual(old.status?.extendedResourceClaimStatus, pod.status?.extendedResourceClaimStatus)) {
      throw refused(a, `node ${quote(node)} cannot update extended resource claim status`)
    }
  }
  function admitNode(a: AdmissionAttributes, node: string): void {
    const object = a.object as corev1.Node | undefined
    let name = a.name
    if (a.operation === 'CREATE' && object) {
      const labels = forbiddenLabelChanges(object.metadata.labels, undefined)
      if (labels.length) throw refused(a, `node ${quote(node)} is not allowed to set the following labels: ${labels.join(', ')}`)
      name ||= object.metadata.name ?? ''
    }
    if (name !== node) throw refused(a, `node ${quote(node)} is not allowed to modify node ${quote(name)}`)
    if (a.operation !== 'UPDATE' || !object) return
    const old = a.oldObject as corev1.Node
    if (!deepEqual(old.spec.taints ?? [], object.spec.taints ?? [])) throw refused(a, `node ${quote(node)} is not allowed to modify taints`)
    const labels = forbiddenLabelChanges(object.metadata.labels, old.metadata.labels)
    if (labels.length) throw refused(a, `node ${quote(node)} is not allowed to modify labels: ${labels.join(', ')}`)
    // With an owner it controls, a node could have its Node deleted and made anew with labels and taints of its choice.
    if (!deepEqual(old.metadata.ownerReferences ?? [], object.metadata.ownerReferences ?? [])) {
      throw refused(a, `node ${quote(node)} is not allowed to modify ownerReferences`)
    }
  }
  function admitClaim(a: AdmissionAttributes, node: string): void {
    if (a.subresource !== 'status') throw refused(a, 'may only update PVC status')
    if (a.operation !== 'UPDATE') throw refused(a, `unexpected operation ${quote(a.operation)}`)
    const bare = (object: unknown) => {
      const { metadata, status, ...rest } = object as corev1.PersistentVolumeClaim
      const { resourceVersion: _, managedFields: __, ...meta } = metadata
      const { capacity: ___, conditions: ____, allocatedResources: _____, allocatedResourceStatuses: ______, ...state } = status ?? {}
      return { ...rest, metadata: meta, status: state }
    }
    if (!deepEqual(bare(a.object), bare(a.oldObject))) {
      throw refused(a, `node ${quote(node)} is not allowed to update fields other than status.quantity and status.conditions: `)
    }
  }
  async function admitToken(a: AdmissionAttributes, node: string): Promise<void> {
    if (a.operation !== 'CREATE' || a.subresource !== 'token') return
    const { spec } = a.object as authenticationv1.TokenRequest
    const ref = spec.boundObjectRef
    if (ref?.apiVersion !== 'v1' || ref.kind !== 'Pod' || !ref.name) throw refused(a, 'node requested token not bound to a pod')
    if (!ref.uid) throw refused(a, 'node requested token with a pod binding without a uid')
    const pod = await findPod(a.namespace, ref.name)
    if (pod.metadata.uid !== ref.uid) {
      throw refused(
        a,
        `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      )
    }
    if (pod.spec.nodeName !== node) throw refused(a, 'node requested token bound to a pod scheduled on a different node')
    const audiences = spec.audiences ?? []
    if (!deps.isEnabled('ServiceAccountNodeAudienceRestriction')) return
    if (audiences.length > 1) throw refused(a, 'node may only request 0 or 1 audiences')
    const audience = audiences[0]
    if (audience && !(await audienceAllowed(a, pod, audience))) {
      throw refused(a, `audience ${quote(audience)} not found in pod spec volume, ${a.user.name} is not authorized to request tokens for this audience`)
    }
  }
  function admitCsr(a: AdmissionAttributes): void {
    if (a.operation !== 'CREATE' || a.subresource !== '') return
    const { signerName, request } = (a.object as certificatesv1.CertificateSigningRequest).spec
    if (signerName !== 'kubernetes.io/kubelet-serving' && signerName !== 'kubernetes.io/kube-apiserver-client-kubelet') return
    let commonName: string
    try {
      commonName = parseSigningRequest(Buffer.from(request, 'base64').toString('utf8')).subject.commonName
    } catch (error) {
      throw refused(a, `unable to parse csr: ${(error as Error).message}`)
    }
    if (commonName !== a.user.name) throw refused(a, `can only create a node CSR with CN=${a.user.name}`)
  }
  const nameOf = (a: AdmissionAttributes) => (a.operation === 'CREATE' ? ((a.object as coordinationv1.Lease | storagev1.CSINode).metadata.name ?? '') : a.name)

  const admitFrom = async (a: AdmissionAttributes, node: string): Promise<void> => {
    if (node === '') throw refused(a, `could not determine node from user ${quote(a.user.name)}`)
    switch (`${a.resource.group}/${a.resource.resource}`) {
      case '/pods':
        return admitPod(a, node)
      case '/nodes':
        return admitNode(a, node)
      case '/persistentvolumeclaims':
        return admitClaim(a, node)
      case '/serviceaccounts':
        return admitToken(a, node)
      case 'coordination.k8s.io/leases':
        if (a.namespace !== LEASE_NAMESPACE) throw refused(a, `can only access leases in the ${quote(LEASE_NAMESPACE)} system namespace`)
        if (nameOf(a) !== node) throw refused(a, 'can only access node lease with the same name as the requesting node')
        return
      case 'storage.k8s.io/csinodes':
        if (nameOf(a) !== node) throw refused(a, 'can only access CSINode with the same name as the requesting node')
        return
      case 'resource.k8s.io/resourceslices': {
        const verb = a.operation === 'CREATE' ? 'create' : a.operation === 'DELETE' ? 'delete' : undefined
        const slice = (verb === 'create' ? a.object : a.oldObject) as resourcev1.ResourceSlice | undefined
        if (verb && slice?.spec.nodeName !== node) throw refused(a, `can only ${verb} ResourceSlice with the same NodeName as the requesting node`)
        return
      }
      case 'certificates.k8s.io/certificatesigningrequests':
        return admitCsr(a)
      case 'certificates.k8s.io/podcertificaterequests':
        throw refused(a, 'PodCertificateRequest feature gate is disabled')
      default:
        return
    }
  }

  return {
    name: 'NodeRestriction',
    handles: (operation) => operation !== 'CONNECT',
    admit(a) {
      const identity = nodeIdentity(a.user)
      return identity ? admitFrom(a, identity.name) : undefined
    },
  }
}
