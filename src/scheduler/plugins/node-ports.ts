import type { corev1 } from '../../api/index.ts'
import type { Plugin } from '../framework/plugin.ts'
import { podInfo } from '../framework/pod-info.ts'
import { skip, unschedulable } from '../framework/status.ts'

/** Refuses nodes on which a wanted host port is taken. */
export function nodePorts(): Plugin {
  const rejected = unschedulable("node(s) didn't have free ports for the requested pod ports")
  return {
    name: 'NodePorts',
    events: () => [
      {
        resource: 'AssignedPod',
        actions: ['Delete'],
        hint(pod, e) {
          const gone = podInfo(e.old as corev1.Pod).hostPorts
          return pod.hostPorts.some((p) =>
            gone.some((g) => g.protocol === p.protocol && g.port === p.port && (g.ip === p.ip || g.ip === '0.0.0.0' || p.ip === '0.0.0.0')),
          )
        },
      },
      { resource: 'Node', actions: ['Add'] },
    ],
    preFilter: (_, pod) => (pod.hostPorts.length === 0 ? skip : undefined),
    filter: (_, pod, node) => (pod.hostPorts.some((p) => node.portTaken(p)) ? rejected : undefined),
  }
}
