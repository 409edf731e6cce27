import type { ObjectReference, Pod, PodTemplateSpec } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isNamespaceTerminating, isNotFound } from '../../apimachinery/errors.ts'
import type { OwnerReference } from '../../apimachinery/meta/v1/types.generated.ts'
import { deepCopy } from '../../base/index.ts'
import type { Client } from '../../client/client.ts'
import type { EventRecorder } from '../../client/record/event-recorder.ts'

/** The name's room in a generateName: the server cuts longer prefixes. */
const MAX_NAME = 253

/** Makes and deletes Pods for an owner and says so in the owner's events. */
export class PodControl {
  private readonly client: Client
  private readonly recorder: EventRecorder

  constructor(client: Client, recorder: EventRecorder) {
    this.client = client
    this.recorder = recorder
  }

  /** Creates the Pod; the error of the API is thrown after it was told of. Without labels nothing is made. */
  async create(pod: Pod, owner: ObjectReference): Promise<Pod> {
    if (Object.keys(pod.metadata.labels ?? {}).length === 0) throw new Error('unable to create pods, no labels')
    let made: Pod
    try {
      made = await this.client.resource(resources.corev1.pods).namespace(owner.namespace).create(pod)
    } catch (error) {
      if (!isNamespaceTerminating(error)) this.recorder.event(owner, 'Warning', 'FailedCreate', `Error creating: ${(error as Error).message}`)
      throw error
    }
    this.recorder.event(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${made.metadata.name}`)
    return made
  }

  /** Deletes the Pod; one that is gone throws NotFound without an event. */
  async delete(name: string, owner: ObjectReference): Promise<void> {
    try {
      await this.client.resource(resources.corev1.pods).namespace(owner.namespace).delete(name)
    } catch (error) {
      if (isNotFound(error)) throw error
      this.recorder.event(owner, 'Warning', 'FailedDelete', `Error deleting: ${(error as Error).message}`)
      throw new Error(`unable to delete pods: ${(error as Error).message}`, { cause: error })
    }
    this.recorder.event(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${name}`)
  }
}

/** The Pod a template describes, controlled by the owner; `generateName` is `{owner}-`. */
export function podFromTemplate(template: PodTemplateSpec, owner: { name: string; namespace: string | undefined }, ref: OwnerReference | undefined): Pod {
  const { labels, annotations, finalizers } = template.metadata ?? {}
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: owner.name.length + 1 <= MAX_NAME ? `${owner.name}-` : owner.name,
      ...(owner.namespace ? { namespace: owner.namespace } : {}),
      ...(labels ? { labels: deepCopy(labels) } : {}),
      ...(annotations ? { annotations: deepCopy(annotations) } : {}),
      ...(finalizers ? { finalizers: [...finalizers] } : {}),
      ...(ref ? { ownerReferences: [ref] } : {}),
    },
    spec: deepCopy(template.spec),
  } as Pod
}
