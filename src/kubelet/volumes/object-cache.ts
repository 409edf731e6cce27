import type { ConfigMap, Secret } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import { isNotFound, newNotFound } from '../../apimachinery/errors.ts'
import type { KubeObject, ResourceHandle } from '../../apimachinery/object.ts'
import { BoundedMap } from '../../base/bounded-map.ts'
import type { Clock } from '../../base/index.ts'
import type { Client } from '../../client/client.ts'

const FRESH_MS = 1000
const LIMIT = 5000

/**
 * ConfigMaps and Secrets that Pods refer to, read one by one (a node may not list them). What was read within the last second is
 * not read again; immutable ones never are.
 */
export class ObjectCache {
  private readonly entries = new BoundedMap<string, { at: number; value: Promise<KubeObject>; immutable: boolean }>(LIMIT)
  private readonly client: Client
  private readonly clock: Clock

  constructor(client: Client, clock: Clock) {
    this.client = client
    this.clock = clock
  }

  configMap(namespace: string, name: string): Promise<ConfigMap> {
    return this.get(resources.corev1.configmaps, namespace, name)
  }

  secret(namespace: string, name: string): Promise<Secret> {
    return this.get(resources.corev1.secrets, namespace, name)
  }

  private get<T extends KubeObject & { immutable?: boolean }>(handle: ResourceHandle<T>, namespace: string, name: string): Promise<T> {
    const key = `${handle.resource}/${namespace}/${name}`
    const now = this.clock.monotonic()
    const entry = this.entries.get(key)
    if (entry && (entry.immutable || now - entry.at < FRESH_MS)) return entry.value as Promise<T>
    const value = this.client
      .resource(handle)
      .namespace(namespace)
      .get(name)
      .catch((error: unknown): never => {
        // The kubelet's own cache says it in the singular.
        throw isNotFound(error) ? newNotFound({ group: '', resource: handle.resource.replace(/s$/, '') }, name) : error
      })
    const fresh = { at: now, value, immutable: false }
    this.entries.set(key, fresh)
    value.then(
      (object) => {
        fresh.immutable = object.immutable === true
      },
      () => {
        if (this.entries.get(key) === fresh) this.entries.delete(key)
      },
    )
    return value
  }
}
