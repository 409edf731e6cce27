import { newNotFound } from '../../apimachinery/errors.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import type { KV } from '../../storage/kv/kv.ts'
import type { TableColumns } from '../registry/strategy.ts'
import type { VirtualKind } from './endpoint.ts'

type Conditions = { conditions?: { message?: string; error?: string; status: string }[] }

const COLUMNS: TableColumns = {
  columns: ['Name', 'Status', 'Message', 'Error'].map((name, i) => ({
    name,
    type: 'string',
    format: i === 0 ? 'name' : '',
    description: '',
    priority: 0,
  })),
  cells: (obj) => {
    const condition = (obj as Conditions).conditions?.[0]
    return [obj.metadata.name ?? '', condition?.status === 'True' ? 'Healthy' : 'Unhealthy', condition?.message ?? '', condition?.error ?? '']
  },
}

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
    columns: COLUMNS,
    list: async () => [await store()],
    get: async ({ name }) => {
      if (name !== 'etcd-0') throw newNotFound({ group: '', resource: 'componentstatus' }, name)
      return store()
    },
  }
}
