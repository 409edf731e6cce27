import type { ReplicaSet } from '../../api/apps/v1/types.generated.ts'
import type { ReplicationController } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import type { ResourceHandle } from '../../apimachinery/object.ts'
import type { ReplicaSetFlavour } from '../../controller-runtime/pods/replica-set-flavour.ts'

/** ReplicationControllers run on the ReplicaSets' engine: only their selector, a plain map, differs. */
export const replicationControllerFlavour: ReplicaSetFlavour = {
  name: 'replicationcontroller-controller',
  handle: resources.corev1.replicationcontrollers as unknown as ResourceHandle<ReplicaSet>,
  component: 'replication-controller',
  terminatingReplicas: false,
  fromApi: (object) => {
    const rc = object as unknown as ReplicationController
    return { ...rc, spec: { ...rc.spec, selector: { matchLabels: rc.spec.selector ?? {} } } } as unknown as ReplicaSet
  },
  toApi: (set) => ({ ...set, spec: { ...set.spec, selector: set.spec.selector?.matchLabels ?? {} } }) as unknown as ReplicaSet,
}
