import type { Node } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'
import type { ControllerManagerOptions } from '../options.ts'
import { CidrPool } from './cidr-pool.ts'

/** Gives each node its range of Pod addresses. */
export class NodeIpamController {
  private readonly controller: Controller

  constructor(context: ControllerContext, options: ControllerManagerOptions = {}) {
    const pool = new CidrPool(options.clusterCidr ?? '10.244.0.0/16', options.nodeCidrMaskSizeIPv4 ?? 24)
    const nodes = context.informers.informer(resources.corev1.nodes)
    const recorder = context.events.recorder('cidrAllocator')
    const event = (node: Node, reason: string) =>
      recorder.event(
        { kind: 'Node', apiVersion: 'v1', name: node.metadata.name ?? '', uid: node.metadata.uid ?? '' },
        'Normal',
        reason,
        `Node ${node.metadata.name} status is now: ${reason}`,
      )
    this.controller = new Controller(context, {
      name: 'node-ipam-controller',
      // One at a time: the order of nodes is the order of ranges.
      workers: 1,
      informers: [nodes],
      reconcile: async (name) => {
        const node = nodes.lister.get(name)
        if (!node || node.spec?.podCIDR) return
        const cidr = pool.allocate()
        if (cidr === undefined) {
          event(node, 'CIDRNotAvailable')
          throw new Error('CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range')
        }
        try {
          await context.client.resource(resources.corev1.nodes).patch(name, 'strategic', { spec: { podCIDR: cidr, podCIDRs: [cidr] } })
        } catch (error) {
          pool.release(cidr)
          event(node, 'CIDRAssignmentFailed')
          throw error
        }
      },
    })
    const seen = (node: Node) => {
      for (const cidr of node.spec?.podCIDRs ?? (node.spec?.podCIDR ? [node.spec.podCIDR] : [])) pool.occupy(cidr)
      if (!node.spec?.podCIDR) this.controller.queue.add(node.metadata.name ?? '')
    }
    nodes.addHandler({
      onAdd: seen,
      onUpdate: (_, node) => seen(node),
      onDelete: (node) => {
        for (const cidr of node.spec?.podCIDRs ?? []) pool.release(cidr)
      },
    })
  }

  run(): Promise<void> {
    return this.controller.run()
  }
}
