import type { Scale } from '../../api/autoscaling/v1/types.generated.ts'
import type { HorizontalPodAutoscaler, HorizontalPodAutoscalerStatus, MetricSpec, MetricStatus } from '../../api/autoscaling/v2/types.generated.ts'
import type { Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isConflict } from '../../apimachinery/errors.ts'
import { parseSelector } from '../../apimachinery/labels.ts'
import { apiVersionOf, groupKindName, objectKey, parseApiVersion } from '../../apimachinery/object.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { type DiscoveredResource, discover, type EventRecorder, type Informer, referenceTo } from '../../client/index.ts'
import { milliValue } from '../../component-helpers/amounts.ts'
import { Controller, type ControllerContext, type ReconcileResult } from '../../controller-runtime/index.ts'
import { ScalingHistory } from './behavior.ts'
import { type Proposal, type ResourceTarget, resourceReplicas, TOLERANCE } from './replica-calculator.ts'
import { failureText, groupPods, podMetrics } from './resource-metrics.ts'

const PERIOD_MS = 15_000
type Status = HorizontalPodAutoscalerStatus

/** A metric that could not be had, with its condition's reason. */
class MetricError extends Error {
  readonly reason: string
  constructor(reason: string, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Scales what a HorizontalPodAutoscaler points at by the usage of its Pods, every 15 seconds. */
export class HorizontalController {
  private readonly context: ControllerContext
  private readonly hpas: Informer<HorizontalPodAutoscaler>
  private readonly pods: Informer<Pod>
  private readonly recorder: EventRecorder
  private readonly controller: Controller
  private readonly histories = new Map<string, ScalingHistory>()
  private readonly selectors = new Map<string, string>()
  private kinds = new Map<string, DiscoveredResource>()

  constructor(context: ControllerContext) {
    this.context = context
    this.hpas = context.informers.informer(resources.autoscalingv2.horizontalpodautoscalers)
    this.pods = context.informers.informer(resources.corev1.pods)
    this.recorder = context.events.recorder('horizontal-pod-autoscaler')
    const fixed = { when: () => PERIOD_MS, forget() {}, requeues: () => 0 }
    this.controller = new Controller(context, {
      name: 'horizontal-pod-autoscaler-controller',
      limiter: fixed,
      informers: [this.hpas, this.pods],
      reconcile: (key) => this.reconcile(key),
    })
    this.hpas.addHandler({
      onAdd: (hpa) => this.controller.queue.add(objectKey(hpa)),
      onUpdate: (before, after) => {
        if (!deepEqual(before.spec, after.spec)) this.controller.queue.add(objectKey(after))
      },
      onDelete: (hpa) => {
        this.histories.delete(objectKey(hpa))
        this.selectors.delete(objectKey(hpa))
      },
    })
  }

  run(): Promise<void> {
    return this.controller.run()
  }

  private async reconcile(key: string): Promise<ReconcileResult | undefined> {
    const hpa = this.hpas.lister.get(key)
    if (!hpa) return
    const status: Status = deepCopy(hpa.status)
    status.desiredReplicas ??= 0
    status.currentMetrics ??= null as unknown as MetricStatus[]
    await this.sync(key, hpa, status)
    if (!deepEqual(status, hpa.status)) {
      try {
        await this.context.client
          .resource(resources.autoscalingv2.horizontalpodautoscalers)
          .namespace(hpa.metadata.namespace)
          .updateStatus({ ...deepCopy(hpa), status })
      } catch (error) {
        if (!isConflict(error)) this.event(hpa, 'Warning', 'FailedUpdateStatus', (error as Error).message)
      }
    }
    return { requeueAfterMs: PERIOD_MS }
  }

  private event(hpa: HorizontalPodAutoscaler, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.recorder.event(referenceTo(resources.autoscalingv2.horizontalpodautoscalers, hpa), type, reason, message)
  }

  private condition(status: Status, type: string, value: string, reason: string, message: string): void {
    const conditions = [...(status.conditions ?? [])]
    const i = conditions.findIndex((c) => c.type === type)
    const old = conditions[i]
    const lastTransitionTime = old?.status === value && old.lastTransitionTime ? old.lastTransitionTime : formatTime(this.context.clock.now())
    const next = { type, status: value, lastTransitionTime, reason, message }
    if (old) conditions[i] = next
    else conditions.push(next)
    status.conditions = conditions
  }

  private async target(hpa: HorizontalPodAutoscaler): Promise<{ handle: DiscoveredResource; scale: Scale }> {
    const { apiVersion = '', kind, name } = hpa.spec.scaleTargetRef
    const id = `${apiVersion} ${kind}`
    if (!this.kinds.has(id)) {
      const { resources: all } = await discover(this.context.client, this.context.signal)
      this.kinds = new Map(all.map((r) => [`${apiVersionOf(r)} ${r.kind}`, r]))
    }
    const handle = this.kinds.get(id)
    if (!handle) throw new Error(`no matches for kind "${groupKindName({ group: parseApiVersion(apiVersion)?.group ?? '', kind })}" in group`)
    const scale = await this.context.client.resource(handle).namespace(hpa.metadata.namespace).getSubresource<Scale>(name, 'scale')
    return { handle, scale }
  }

  private async sync(key: string, hpa: HorizontalPodAutoscaler, status: Status): Promise<void> {
    let found: { handle: DiscoveredResource; scale: Scale }
    try {
      found = await this.target(hpa)
    } catch (error) {
      const err = (error as Error).message
      this.event(hpa, 'Warning', 'FailedGetScale', err)
      this.condition(status, 'AbleToScale', 'False', 'FailedGetScale', `the HPA controller was unable to get the target's current scale: ${err}`)
      return
    }
    this.condition(status, 'AbleToScale', 'True', 'SucceededGetScale', "the HPA controller was able to get the target's current scale")
    const { scale } = found
    const current = scale.spec?.replicas ?? 0
    const min = hpa.spec.minReplicas ?? 1
    this.selectors.set(key, scale.status?.selector ?? '')
    if (current === 0 && min !== 0) {
      this.condition(status, 'ScalingActive', 'False', 'ScalingDisabled', 'scaling is disabled since the replica count of the target is zero')
      status.desiredReplicas = 0
      return
    }
    let desired: number
    let why = ''
    let failure: MetricError | undefined
    if (current > hpa.spec.maxReplicas) {
      desired = hpa.spec.maxReplicas
      why = 'Current number of replicas above Spec.MaxReplicas'
    } else if (current < min) {
      desired = min
      why = 'Current number of replicas below Spec.MinReplicas'
    } else {
      const computed = await this.compute(hpa, status, scale, current)
      failure = computed.failure
      if (computed.replicas === undefined) {
        status.currentReplicas = current
        if (failure) this.event(hpa, 'Warning', 'FailedComputeMetricsReplicas', failure.message)
        return
      }
      const history = this.histories.get(key) ?? new ScalingHistory()
      this.histories.set(key, history)
      const limited = history.limit(hpa, current, computed.replicas, this.context.clock.now())
      desired = limited.replicas
      why = desired > current ? `${computed.metric} above target` : 'All metrics below target'
      this.condition(status, 'AbleToScale', 'True', ...limited.able)
      this.condition(status, 'ScalingLimited', ...limited.limited)
    }
    await this.rescale(key, hpa, status, found, { current, desired, why })
  }

  private async rescale(
    key: string,
    hpa: HorizontalPodAutoscaler,
    status: Status,
    { handle, scale }: { handle: DiscoveredResource; scale: Scale },
    { current, desired, why }: { current: number; desired: number; why: string },
  ): Promise<void> {
    status.currentReplicas = current
    status.desiredReplicas = desired
    if (desired === current) return
    const { name } = hpa.spec.scaleTargetRef
    try {
      const next = { ...deepCopy(scale), spec: { replicas: desired } }
      await this.context.client.resource(handle).namespace(hpa.metadata.namespace).updateSubresource<Scale>(name, 'scale', next)
    } catch (error) {
      const err = (error as Error).message
      this.event(hpa, 'Warning', 'FailedRescale', `New size: ${desired}; reason: ${why}; error: ${err}`)
      this.condition(status, 'AbleToScale', 'False', 'FailedUpdateScale', `the HPA controller was unable to update the target scale: ${err}`)
      status.desiredReplicas = current
      throw error
    }
    this.condition(status, 'AbleToScale', 'True', 'SucceededRescale', `the HPA controller was able to update the target scale to ${desired}`)
    this.event(hpa, 'Normal', 'SuccessfulRescale', `New size: ${desired}; reason: ${why}`)
    this.histories.get(key)?.scaled(current, desired, this.context.clock.now())
    status.lastScaleTime = formatTime(this.context.clock.now())
  }

  /** The largest proposal of all metrics; one that cannot be had keeps the count from falling. */
  private async compute(
    hpa: HorizontalPodAutoscaler,
    status: Status,
    scale: Scale,
    current: number,
  ): Promise<{ replicas?: number; metric: string; failure?: MetricError }> {
    const selector = scale.status?.selector ?? ''
    if (selector === '') {
      this.event(hpa, 'Warning', 'SelectorRequired', 'selector is required')
      this.condition(status, 'ScalingActive', 'False', 'InvalidSelector', "the HPA target's scale is missing a selector")
      return { metric: '' }
    }
    const pods = this.pods.lister.inNamespace(hpa.metadata.namespace).filter((p) => parseSelector(selector).matches(p.metadata.labels))
    const rivals = [...this.selectors]
      .filter(([k, s]) => s === selector && k.split('/')[0] === hpa.metadata.namespace && this.hpas.lister.get(k))
      .map(([k]) => k)
    if (rivals.length > 1 && pods.length > 0) {
      const message = `pods by selector ${selector} are controlled by multiple HPAs: [${rivals.sort().join(' ')}]`
      this.event(hpa, 'Warning', 'AmbiguousSelector', message)
      this.condition(status, 'ScalingActive', 'False', 'AmbiguousSelector', message)
      return { metric: '' }
    }
    const metrics: MetricStatus[] = []
    const specs = hpa.spec.metrics ?? []
    let best: { replicas: number; name: string } | undefined
    let failure: MetricError | undefined
    let invalid = 0
    for (const spec of specs) {
      try {
        const { proposal, name, shown } = await this.measure(hpa, spec, selector, pods, current)
        metrics.push(shown)
        if (!best || proposal.replicas > best.replicas) best = { replicas: proposal.replicas, name }
      } catch (error) {
        invalid++
        metrics.push({ type: '' } as MetricStatus)
        const e = error instanceof MetricError ? error : new MetricError('FailedGetResourceMetric', (error as Error).message)
        failure ??= e
        this.event(hpa, 'Warning', e.reason, e.message)
      }
    }
    status.currentMetrics = metrics
    if (failure && (!best || best.replicas < current)) {
      this.condition(status, 'ScalingActive', 'False', failure.reason, `the HPA was unable to compute the replica count: ${failure.message}`)
      const text = `invalid metrics (${invalid} invalid out of ${specs.length}), first error is: ${failure.message}`
      return { metric: '', failure: new MetricError(failure.reason, text) }
    }
    if (!best) return { metric: '' }
    this.condition(status, 'ScalingActive', 'True', 'ValidMetricFound', `the HPA was able to successfully calculate a replica count from ${best.name}`)
    return { replicas: best.replicas, metric: best.name, ...(failure ? { failure } : {}) }
  }

  private async measure(
    hpa: HorizontalPodAutoscaler,
    spec: MetricSpec,
    selector: string,
    pods: readonly Pod[],
    current: number,
  ): Promise<{ proposal: Proposal; name: string; shown: MetricStatus }> {
    const source = spec.type === 'Resource' ? spec.resource : spec.type === 'ContainerResource' ? spec.containerResource : undefined
    if (source) return this.measureResource(hpa, spec, source, selector, pods, current)
    if (spec.type === 'External' && spec.external) {
      const { metric } = spec.external
      const path = `/apis/external.metrics.k8s.io/v1beta1/namespaces/${encodeURIComponent(hpa.metadata.namespace ?? '')}/${encodeURIComponent(metric.name)}`
      const response = await this.context.client.raw({ path })
      const text = await response.text()
      const label = `${hpa.metadata.namespace}/${metric.name}/${metric.selector ? JSON.stringify(metric.selector) : 'nil'}`
      if (response.status !== 200) {
        const why = failureText(response.status, text, `get ${metric.name}.external.metrics.k8s.io`)
        throw new MetricError('FailedGetExternalMetric', `unable to get external metric ${label}: unable to fetch metrics from external metrics API: ${why}`)
      }
      const total = (JSON.parse(text) as { items: { value: string }[] }).items.reduce((n, i) => n + milliValue(i.value), 0)
      const { value, averageValue } = spec.external.target
      const ratio = averageValue !== undefined ? total / (milliValue(averageValue) * Math.max(1, current)) : total / Math.max(1, milliValue(value))
      const wanted = averageValue !== undefined ? Math.ceil(total / Math.max(1, milliValue(averageValue))) : Math.ceil(ratio * current)
      const replicas = Math.abs(1 - ratio) <= TOLERANCE ? current : wanted
      return {
        proposal: { replicas, average: total },
        name: `external metric ${metric.name}(${metric.selector ? JSON.stringify(metric.selector) : 'nil'})`,
        shown: {
          type: 'External',
          external: { metric, current: averageValue !== undefined ? { averageValue: `${Math.ceil(total / Math.max(1, current))}m` } : { value: `${total}m` } },
        } as MetricStatus,
      }
    }
    const kind = spec.type === 'Pods' ? 'Pods' : 'Object'
    const name = spec.pods?.metric.name ?? spec.object?.metric.name ?? ''
    const what =
      kind === 'Pods'
        ? `unable to get metric ${name}: `
        : `unable to get metric ${name}: ${spec.object?.describedObject.kind ?? ''} on ${hpa.metadata.namespace} ${spec.object?.describedObject.name ?? ''}/`
    throw new MetricError(
      `FailedGet${kind}Metric`,
      `${what}unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered`,
    )
  }

  private async measureResource(
    hpa: HorizontalPodAutoscaler,
    spec: MetricSpec,
    source: { name: string; container?: string; target: { averageUtilization?: number; averageValue?: string } },
    selector: string,
    pods: readonly Pod[],
    current: number,
  ): Promise<{ proposal: Proposal; name: string; shown: MetricStatus }> {
    const resource = source.name
    const { averageUtilization, averageValue } = source.target
    const target: ResourceTarget = {
      resource,
      ...(source.container === undefined ? {} : { container: source.container }),
      ...(averageUtilization === undefined ? { averageValue: milliValue(averageValue) } : { averageUtilization }),
    }
    const reason = source.container === undefined ? 'FailedGetResourceMetric' : 'FailedGetContainerResourceMetric'
    const head = averageUtilization === undefined ? `failed to get ${resource} usage: ` : `failed to get ${resource} utilization: `
    const fail = (why: string) => new MetricError(reason, `${head}${why}`)
    let metrics: Awaited<ReturnType<typeof podMetrics>>
    try {
      metrics = await podMetrics(this.context.client, hpa.metadata.namespace ?? '', selector, resource, source.container)
    } catch (error) {
      throw fail(`unable to get metrics for resource ${resource}: ${(error as Error).message}`)
    }
    const tolerance = { up: Number(hpa.spec.behavior?.scaleUp?.tolerance ?? TOLERANCE), down: Number(hpa.spec.behavior?.scaleDown?.tolerance ?? TOLERANCE) }
    let proposal: Proposal
    try {
      proposal = resourceReplicas(current, target, pods, groupPods(pods, metrics, resource, this.context.clock.now()), metrics, tolerance)
    } catch (error) {
      throw fail((error as Error).message)
    }
    const kind = source.container === undefined ? 'resource' : 'container resource'
    const name = averageUtilization === undefined ? `${resource} ${kind}` : `${resource} ${kind} utilization (percentage of request)`
    const shownCurrent = { averageValue: `${proposal.average}m`, ...(proposal.utilization === undefined ? {} : { averageUtilization: proposal.utilization }) }
    const shown =
      spec.type === 'Resource'
        ? { type: 'Resource', resource: { name: resource, current: shownCurrent } }
        : { type: 'ContainerResource', containerResource: { name: resource, container: source.container, current: shownCurrent } }
    return { proposal, name, shown: shown as MetricStatus }
  }
}
