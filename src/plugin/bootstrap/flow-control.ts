import { type flowcontrolv1, resources } from '../../api/index.ts'
import type { KubeObject, ResourceHandle } from '../../apimachinery/object.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { atOnce } from './at-once.ts'
import { createIfMissing } from './ensure.ts'
import { flowControlBootstrap } from './flowcontrol.generated.ts'
import { type HookContext, keepDoing, type PostStartHook } from './hook.ts'

const AUTOUPDATE = 'apf.kubernetes.io/autoupdate-spec'
const PERIOD_MS = 60_000

type FlowObject = flowcontrolv1.FlowSchema | flowcontrolv1.PriorityLevelConfiguration

interface Entry {
  readonly name: string
  readonly mandatory: boolean
  readonly spec: object
}

/** Flow schemas and priority levels: mandatory ones always have their default, suggested ones unless somebody took them over. */
export function flowControlHook(context: HookContext): PostStartHook {
  const data = JSON.parse(flowControlBootstrap) as { priorityLevelConfigurations: Entry[]; flowSchemas: Entry[] }
  const { prioritylevelconfigurations, flowschemas } = resources.flowcontrolv1
  return {
    name: 'priority-and-fairness-config-producer',
    run: (signal) => {
      const ensure = async () => {
        await reconcile(context, prioritylevelconfigurations, data.priorityLevelConfigurations)
        await reconcile(context, flowschemas, data.flowSchemas)
      }
      return keepDoing('flow control objects', ensure, PERIOD_MS, context, signal)
    },
  }
}

async function reconcile<T extends FlowObject & KubeObject>({ client }: HookContext, handle: ResourceHandle<T>, entries: readonly Entry[]): Promise<void> {
  const api = client.resource(handle)
  const stored = new Map((await api.list()).items.map((o) => [o.metadata.name ?? '', o]))
  await atOnce(entries, async ({ name, mandatory, spec }) => {
    const have = stored.get(name)
    stored.delete(name)
    if (!have) {
      const metadata = { name, annotations: { [AUTOUPDATE]: 'true' } }
      await createIfMissing(client, handle, {
        apiVersion: `${handle.group}/${handle.version}`,
        kind: handle.kind,
        metadata,
        spec: deepCopy(spec),
      } as unknown as T)
      return
    }
    const asked = have.metadata.annotations?.[AUTOUPDATE]
    // Without the annotation, an object nobody has touched since it was made is ours.
    const ours = mandatory || (asked === 'true' || asked === 'false' ? asked === 'true' : have.metadata.generation === 1)
    const wanted = ours ? spec : have.spec
    const annotation = String(ours)
    if (asked === annotation && deepEqual(have.spec, wanted)) return
    const next = deepCopy(have) as T
    next.metadata.annotations = { ...next.metadata.annotations, [AUTOUPDATE]: annotation }
    next.spec = deepCopy(wanted) as T['spec']
    await api.update(next)
  })
  for (const left of stored.values()) if (left.metadata.annotations?.[AUTOUPDATE] === 'true') await api.delete(left.metadata.name ?? '')
}
