import { type corev1, resources, type schedulingv1 } from '../../api/index.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import { getOrUndefined } from '../../client/rest/client.ts'
import type { AdmissionDependencies } from './dependencies.ts'
import { concerns, refused } from './refusal.ts'

/** The two classes of the system are known before their objects are. */
const systemClasses: Readonly<Record<string, number>> = { 'system-node-critical': 2_000_001_000, 'system-cluster-critical': 2_000_000_000 }

/** Turns a Pod's class into its priority, and keeps the cluster to one default class. */
export function priority({ client, informers }: AdmissionDependencies): AdmissionPlugin {
  const { lister } = informers.informer(resources.schedulingv1.priorityclasses)
  const api = client.resource(resources.schedulingv1.priorityclasses)

  const defaultClass = (): schedulingv1.PriorityClass | undefined => {
    let lowest: schedulingv1.PriorityClass | undefined
    for (const one of lister.list()) if (one.globalDefault && (!lowest || one.value < lowest.value)) lowest = one
    return lowest
  }
  const admitPod = async (attributes: AdmissionAttributes): Promise<void> => {
    const { spec } = attributes.object as corev1.Pod
    let value = 0
    let policy: string = 'PreemptLowerPriority'
    if (!spec.priorityClassName) {
      const found = defaultClass()
      if (found) {
        spec.priorityClassName = found.metadata.name as string
        value = found.value
        policy = found.preemptionPolicy ?? policy
      }
    } else {
      const name = spec.priorityClassName
      const found = lister.get(name) ?? (await getOrUndefined(api, name))
      if (!found && !Object.hasOwn(systemClasses, name)) throw refused(attributes, `no PriorityClass with name ${name} was found`)
      value = found ? found.value : (systemClasses[name] as number)
      policy = found?.preemptionPolicy ?? policy
    }
    if (spec.priority !== undefined && spec.priority !== value) {
      throw refused(
        attributes,
        `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
      )
    }
    if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy) {
      throw refused(
        attributes,
        `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
      )
    }
    spec.priority = value
    spec.preemptionPolicy = policy as NonNullable<corev1.PodSpec['preemptionPolicy']>
  }
  return {
    name: 'Priority',
    looksAt: ({ group, resource }) => (group === '' && resource === 'pods') || (group === 'scheduling.k8s.io' && resource === 'priorityclasses'),
    handles: (operation) => operation === 'CREATE' || operation === 'UPDATE',
    async admit(attributes) {
      if (!concerns(attributes, '', 'pods')) return
      if (attributes.operation === 'CREATE') return admitPod(attributes)
      // On update the computed fields are put back when a client left them out.
      const { spec } = attributes.object as corev1.Pod
      const before = (attributes.oldObject as corev1.Pod).spec
      if (spec.priority === undefined && before.priority !== undefined) spec.priority = before.priority
      if (spec.preemptionPolicy === undefined && before.preemptionPolicy !== undefined) spec.preemptionPolicy = before.preemptionPolicy
    },
    validate(attributes) {
      if (!concerns(attributes, 'scheduling.k8s.io', 'priorityclasses')) return
      const wanted = attributes.object as schedulingv1.PriorityClass
      if (!wanted.globalDefault) return
      const other = defaultClass()
      if (other && (attributes.operation === 'CREATE' || other.metadata.name !== wanted.metadata.name)) {
        throw refused(attributes, `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`)
      }
    },
  }
}
