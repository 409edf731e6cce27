import type { Node, Taint } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isConflict } from '../../apimachinery/errors.ts'
import { deepEqual } from '../../base/index.ts'
import type { Client } from '../../client/client.ts'

const TRIES = 5

/**
 * Writes a node's taints; on a conflict the change is made anew on the fresh node.
 * @param change the taints wanted, from those that are there; the same list means nothing to do
 */
export async function changeTaints(client: Client, node: Node, change: (taints: readonly Taint[]) => Taint[]): Promise<Node> {
  const nodes = client.resource(resources.corev1.nodes)
  let current = node
  for (let attempt = 1; ; attempt++) {
    const before = current.spec?.taints ?? []
    const after = change(before)
    if (deepEqual(before, after)) return current
    try {
      return await nodes.patch(current.metadata.name ?? '', 'merge', {
        metadata: { resourceVersion: current.metadata.resourceVersion },
        spec: { taints: after.length > 0 ? after : null },
      })
    } catch (error) {
      if (!isConflict(error) || attempt >= TRIES) throw error
      current = await nodes.get(current.metadata.name ?? '')
    }
  }
}
