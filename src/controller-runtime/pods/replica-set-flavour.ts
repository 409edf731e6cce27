import type { ReplicaSet } from '../../api/apps/v1/types.generated.ts'
import type { ResourceHandle } from '../../apimachinery/object.ts'

/** What tells ReplicaSets from ReplicationControllers, which the same engine runs. */
export interface ReplicaSetFlavour {
  name: string
  handle: ResourceHandle<ReplicaSet>
  component: string
  terminatingReplicas: boolean
  /** To the ReplicaSet form the engine works on, and back. */
  fromApi: (object: ReplicaSet) => ReplicaSet
  toApi: (object: ReplicaSet) => ReplicaSet
}
