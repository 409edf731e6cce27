import type { CycleState, PluginHandle } from '../framework/plugin.ts'
import type { WeightedPlugin } from '../framework/runner.ts'
import { defaultBinder, defaultPreemption, dynamicResources } from './default-preemption.ts'
import { imageLocality } from './image-locality.ts'
import { interPodAffinity } from './inter-pod-affinity.ts'
import { nodeAffinity } from './node-affinity.ts'
import { nodeName, nodeUnschedulable, schedulingGates } from './node-checks.ts'
import { nodePorts } from './node-ports.ts'
import { balancedAllocation, nodeResourcesFit } from './node-resources-fit.ts'
import { nodeVolumeLimits } from './node-volume-limits.ts'
import { podTopologySpread } from './pod-topology-spread.ts'
import { taintToleration } from './taint-toleration.ts'
import { volumeBinding } from './volume-binding.ts'
import { volumeRestrictions } from './volume-restrictions.ts'
import { volumeZone } from './volume-zone.ts'

/** The default profile: order decides which reason is shown, weight how much a score counts. */
export function defaultPlugins(handle: PluginHandle, cloneState: (state: CycleState) => CycleState): WeightedPlugin[] {
  const on = (plugin: WeightedPlugin['plugin'], weight = 1): WeightedPlugin => ({ plugin, weight })
  return [
    on(schedulingGates()),
    on(nodeUnschedulable()),
    on(nodeName()),
    on(taintToleration(), 3),
    on(nodeAffinity(), 2),
    on(nodePorts()),
    on(nodeResourcesFit()),
    on(volumeRestrictions(handle.view.volumes)),
    on(nodeVolumeLimits(handle.view.volumes)),
    on(volumeBinding(handle)),
    on(volumeZone(handle.view.volumes)),
    on(podTopologySpread(handle.view), 2),
    on(interPodAffinity(handle.view), 2),
    on(dynamicResources()),
    on(defaultPreemption(handle, cloneState)),
    on(balancedAllocation()),
    on(imageLocality()),
    on(defaultBinder(handle)),
  ]
}
