import type { Node } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'

const ANNOTATION = 'node.alpha.kubernetes.io/ttl'
/** Seconds a kubelet may keep secrets by the size of the cluster; a smaller step is taken only when well below. */
const STEPS = [
  { min: 0, max: 100, ttl: 0 },
  { min: 90, max: 500, ttl: 15 },
  { min: 450, max: 1000, ttl: 30 },
  { min: 900, max: 2000, ttl: 60 },
  { min: 1800, max: Number.POSITIVE_INFINITY, ttl: 300 },
]

/** Tells kubelets by an annotation how long they may keep what they read, longer in larger clusters. */
export class TtlController {
  private readonly controller: Controller
  private step = 0

  constructor(context: ControllerContext) {
    const nodes = context.informers.informer(resources.corev1.nodes)
    this.controller = new Controller(context, {
      name: 'ttl-controller',
      informers: [nodes],
      reconcile: async (name) => {
        const node = nodes.lister.get(name)
        const value = String(STEPS[this.step]?.ttl ?? 0)
        if (!node || node.metadata.annotations?.[ANNOTATION] === value) return
        await context.client.resource(resources.corev1.nodes).patch(name, 'strategic', { metadata: { annotations: { [ANNOTATION]: value } } })
      },
    })
    const resize = () => {
      const before = this.step
      const count = nodes.lister.size
      while (count > (STEPS[this.step]?.max ?? Number.POSITIVE_INFINITY)) this.step++
      while (this.step > 0 && count < (STEPS[this.step]?.min ?? 0)) this.step--
      if (this.step !== before) for (const key of nodes.lister.keys()) this.controller.queue.add(key)
    }
    const enqueue = (node: Node) => this.controller.queue.add(node.metadata.name ?? '')
    nodes.addHandler({
      onAdd: (node) => {
        resize()
        enqueue(node)
      },
      onUpdate: (_, node) => enqueue(node),
      onDelete: resize,
    })
  }

  run(): Promise<void> {
    return this.controller.run()
  }
}
