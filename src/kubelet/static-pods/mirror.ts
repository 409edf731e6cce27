import type { Node, Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import { isAlreadyExists, isNotFound } from '../../apimachinery/errors.ts'
import type { Client } from '../../client/client.ts'
import { annotations, mirrorHash, nameOf, namespaceOf, uidOf } from '../pods/pod.ts'

/** The image a static Pod has in the API. */
export function mirrorOf(pod: Pod, node: Node): Pod {
  const hash = pod.metadata.annotations?.[annotations.hash] ?? uidOf(pod)
  const { uid: _uid, resourceVersion: _rv, creationTimestamp: _c, ownerReferences: _o, ...metadata } = pod.metadata
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      annotations: { ...metadata.annotations, [annotations.mirror]: hash },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node.metadata.name ?? '', uid: node.metadata.uid ?? '', controller: true }],
    },
    spec: pod.spec,
    status: {},
  } as Pod
}

/**
 * Brings a static Pod's mirror to what it has to be.
 * @returns whether it is there now
 */
export async function ensureMirror(client: Client, pod: Pod, mirror: Pod | undefined, node: Node | undefined): Promise<boolean> {
  if (mirror && !mirror.metadata.deletionTimestamp && mirrorHash(mirror) === pod.metadata.annotations?.[annotations.hash]) return true
  if (mirror) await deleteMirror(client, mirror)
  if (!node?.metadata.uid || node.metadata.deletionTimestamp) return false
  try {
    await client.resource(resources.corev1.pods).namespace(namespaceOf(pod)).create(mirrorOf(pod, node))
    return true
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
    const there = await client.resource(resources.corev1.pods).namespace(namespaceOf(pod)).get(nameOf(pod))
    return mirrorHash(there) === pod.metadata.annotations?.[annotations.hash]
  }
}

export async function deleteMirror(client: Client, mirror: Pod): Promise<void> {
  try {
    await client
      .resource(resources.corev1.pods)
      .namespace(namespaceOf(mirror))
      .delete(nameOf(mirror), { gracePeriodSeconds: 0, preconditions: { uid: uidOf(mirror) } })
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}
