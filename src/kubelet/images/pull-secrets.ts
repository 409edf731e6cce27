import type { Pod, Secret } from '../../api/core/v1/types.generated.ts'
import type { EventRecorder } from '../../client/record/event-recorder.ts'
import { namespaceOf, podReference } from '../pods/pod.ts'
import type { ObjectCache } from '../volumes/object-cache.ts'

/** The pull secrets a Pod names. Those that cannot be read are told of in an event and left out. */
export async function pullSecrets(pod: Pod, { objects, recorder }: { objects: ObjectCache; recorder: EventRecorder }): Promise<Secret[]> {
  const names = (pod.spec.imagePullSecrets ?? []).map((r) => r.name ?? '').filter((n) => n !== '')
  const found: Secret[] = []
  const missing: string[] = []
  for (const name of names) {
    try {
      found.push(await objects.secret(namespaceOf(pod), name))
    } catch {
      missing.push(name)
    }
  }
  if (missing.length > 0) {
    recorder.event(
      podReference(pod),
      'Warning',
      'FailedToRetrieveImagePullSecret',
      `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`,
    )
  }
  return found
}
