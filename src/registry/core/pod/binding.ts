import type { Binding, Pod } from '../../../api/core/v1/types.generated.ts'
import { resources } from '../../../api/index.ts'
import { newBadRequest, newConflict, StatusError } from '../../../apimachinery/errors.ts'
import { aggregateText, type ErrorList, FieldPath, fieldErrorText, notSupported, required } from '../../../apimachinery/field.ts'
import type { KubeObject } from '../../../apimachinery/object.ts'
import { formatTime } from '../../../apimachinery/time.ts'
import type { CreateSubresource } from '../../../apiserver/endpoints/endpoint.ts'
import type { CreateHandler } from '../../../apiserver/registry/create-handler.ts'
import type { SubresourceStrategy } from '../../../apiserver/registry/strategy.ts'
import { RequestStrategyContext, type WriteEnvironment } from '../../../apiserver/registry/strategy-context.ts'
import { deepCopy } from '../../../base/deep-freeze.ts'
import type { Client } from '../../../client/client.ts'
import { setPodCondition } from '../../../component-helpers/pod-conditions.ts'

/** What a POST that changes something else answers with. */
export const successStatus = (): KubeObject => ({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }) as unknown as KubeObject

function validateBinding({ target }: Binding): ErrorList {
  const path = FieldPath.root('target')
  const errs: ErrorList = []
  const kind = target?.kind ?? ''
  if (kind !== '' && kind !== 'Node') errs.push(notSupported(path.child('kind'), kind, ['Node', '<empty>']))
  if (!target?.name) errs.push(required(path.child('name')))
  return errs
}

const BINDING = { group: '', resource: 'pods/binding' }

function refusal(pod: Pod, binding: Binding): string | undefined {
  const name = pod.metadata.name
  const { uid, resourceVersion } = binding.metadata
  if (uid && uid !== pod.metadata.uid) return `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${pod.metadata.uid}`
  if (resourceVersion && resourceVersion !== pod.metadata.resourceVersion) {
    return `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${pod.metadata.resourceVersion}`
  }
  if (pod.metadata.deletionTimestamp) return `pod ${name} is being deleted, cannot be assigned to a host`
  if (pod.spec?.nodeName) return `pod ${name} is already assigned to node ${JSON.stringify(pod.spec.nodeName)}`
  return pod.spec?.schedulingGates?.length ? `pod ${name} has non-empty .spec.schedulingGates` : undefined
}

/** The Pod on its node: annotations of the binding are taken over, labels where the Pod has none of the name. */
function bound(old: Pod, binding: Binding, now: string, clearNomination: boolean): Pod {
  const pod = deepCopy(old)
  const { annotations, labels } = binding.metadata
  if (pod.spec) pod.spec.nodeName = binding.target.name ?? ''
  if (annotations && Object.keys(annotations).length > 0) pod.metadata.annotations = { ...pod.metadata.annotations, ...annotations }
  if (labels && Object.keys(labels).length > 0) pod.metadata.labels = { ...labels, ...pod.metadata.labels }
  pod.status ??= {}
  const conditions = [...(pod.status.conditions ?? [])]
  setPodCondition(conditions, { type: 'PodScheduled', status: 'True', lastProbeTime: null } as never, now)
  pod.status.conditions = conditions
  if (clearNomination) delete pod.status.nominatedNodeName
  return pod
}

/** Nothing is merged and nothing checked here: the handler made the object. Being bound is no change that generation counts. */
const write: SubresourceStrategy<Pod> = {
  prepareForUpdate() {},
  validateUpdate(pod, old) {
    if (old.metadata.generation === undefined) delete pod.metadata.generation
    else pod.metadata.generation = old.metadata.generation
    return []
  },
}

/** pods/binding: puts a Pod on a node, once. */
export function podBinding(environment: WriteEnvironment): CreateSubresource {
  return {
    async create({ context, endpoint, namespace, name, object, dryRun, validate }) {
      const binding = object as Binding
      if ((binding.metadata.name ?? '') !== name) throw newBadRequest('name in URL does not match name in Binding object')
      const errs = validateBinding(binding)
      if (errs.length > 0) throw new StatusError({ code: 500, reason: '', message: aggregateText(errs.map(fieldErrorText)) })
      await validate(object)
      const strategyContext = new RequestStrategyContext(environment, context.user, namespace, dryRun)
      const now = formatTime(environment.clock.now())
      const clear = environment.isFeatureEnabled('ClearingNominatedNodeNameAfterBinding')
      await endpoint.store?.update(
        {
          context: strategyContext,
          dryRun,
          meta: { user: context.user.name, userAgent: context.userAgent, verb: 'create', auditID: context.auditID },
          warn: (text) => context.warn(text),
        },
        namespace,
        name,
        {
          noCreate: true,
          subresource: write as SubresourceStrategy,
          transform(old) {
            const pod = old as Pod
            const text = refusal(pod, binding)
            if (text !== undefined) throw newConflict(BINDING, name, text)
            return bound(pod, binding, now, clear)
          },
        },
      )
      return successStatus()
    },
  }
}

/** The old `bindings` resource: the same, with the Pod named in the body. */
export function bindingHandler(client: Client): CreateHandler<Binding> {
  return {
    group: '',
    resource: 'bindings',
    async create(binding, { namespace, dryRun }) {
      const pods = client.resource(resources.corev1.pods).namespace(namespace)
      await pods.createSubresource(binding.metadata.name ?? '', 'binding', binding, dryRun ? { dryRun: true } : {})
      return successStatus()
    },
  }
}
