import { newNotFound } from '../../apimachinery/errors.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import type { KV } from '../../storage/kv/kv.ts'
import type { VirtualKind } from './endpoint.ts'

/** The old list of components: the store is the one the server can tell about by itself. */
export function componentStatuses(kv: KV): VirtualKind {
  const store = async (): Promise<KubeObject> => {
    const healthy = await kv.get('/registry/health').then(
      () => true,
      () => false,
    )
    return {
      kind: 'ComponentStatus',
      apiVersion: 'v1',
      metadata: { name: 'etcd-0' },
      conditions: [{ type: 'Healthy', status: healthy ? 'True' : 'False', message: healthy ? 'ok' : 'the store does not answer' }],
    } as KubeObject
  }
  return {
    list: async () => [await store()],
    get: async ({ name }) => {
      if (name !== 'etcd-0') throw newNotFound({ group: '', resource: 'componentstatus' }, name)
      return store()
    },
  }
}
