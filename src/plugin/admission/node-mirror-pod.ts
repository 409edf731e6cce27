import type { corev1 } from '../../api/index.ts'
import { quote } from '../../apimachinery/quote.ts'
import { isMirrorPod } from '../../component-helpers/pod-conditions.ts'
import { podReferences } from '../auth/node/references.ts'

/**
 * What a Pod must be for a node to make it: the mirror of one that the node runs itself, owned by the node and without any claim on
 * objects of the API (the node could read them because of it).
 * @returns the refusal
 */
export function checkMirrorPodOf(node: string, pod: corev1.Pod): string | undefined {
  const who = `node ${quote(node)}`
  if (!isMirrorPod(pod)) return `pod does not have "kubernetes.io/config.mirror" annotation, ${who} can only create mirror pods`
  if (pod.spec.nodeName !== node) return `${who} can only create pods with spec.nodeName set to itself`
  return wrongOwner(who, node, pod) ?? reference(who, pod)
}

function wrongOwner(who: string, node: string, pod: corev1.Pod): string | undefined {
  const owners = pod.metadata.ownerReferences ?? []
  const [owner] = owners
  if (!owner) return `${who} can only create pods with an owner reference set to itself`
  if (owners.length > 1) return `${who} can only create pods with a single owner reference set to itself`
  if (owner.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node) return `${who} can only create pods with an owner reference set to itself`
  if (!owner.controller) return `${who} can only create pods with a controller owner reference set to itself`
  if (owner.blockOwnerDeletion) return `${who} must not set blockOwnerDeletion on an owner reference`
  return undefined
}

function reference(who: string, pod: corev1.Pod): string | undefined {
  const { annotations: _, ...metadata } = pod.metadata
  // Looked at as if it were no mirror: those are said to refer to nothing.
  const found = podReferences({ ...pod, metadata })
  const sources = pod.spec.volumes?.flatMap((v) => v.projected?.sources ?? []) ?? []
  const what =
    pod.spec.serviceAccountName || sources.some((s) => s.serviceAccountToken)
      ? 'a service account'
      : found.secrets.size
        ? 'secrets'
        : found.configMaps.size
          ? 'configmaps'
          : found.claims.size
            ? 'persistentvolumeclaims'
            : pod.spec.resourceClaims?.length
              ? 'resourceclaims'
              : sources.some((s) => s.clusterTrustBundle)
                ? 'clustertrustbundles'
                : sources.some((s) => s.podCertificate)
                  ? 'podcertificates'
                  : undefined
  return what && `${who} can not create pods that reference ${what}`
}
