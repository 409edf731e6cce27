import { describe, expect, it } from 'vitest'
import type { HorizontalPodAutoscaler } from '../../api/autoscaling/v2/types.generated.ts'
import type { Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import { realHarness } from '../../testing/real-harness.ts'
import { ScalingHistory } from './behavior.ts'
import { HorizontalController } from './controller.ts'
import { resourceReplicas } from './replica-calculator.ts'
import { groupPods } from './resource-metrics.ts'

const pod = (name: string, phase = 'Running'): Pod =>
  ({
    metadata: { name },
    spec: { containers: [{ name: 'main', resources: { requests: { memory: '1', cpu: '1' } } }] },
    status: { phase, startTime: '2026-01-01T00:00:00Z', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:01Z' }] },
  }) as unknown as Pod
const NOW = Date.parse('2026-01-01T01:00:00Z')
const metric = (value: number) => ({ value, timestamp: NOW, windowMs: 30_000 })
const compute = (current: number, percent: number, values: (number | undefined)[]) => {
  const pods = values.map((_, i) => pod(`p${i}`))
  const metrics = new Map(values.flatMap((v, i) => (v === undefined ? [] : [[`p${i}`, metric(v)] as const])))
  return resourceReplicas(current, { resource: 'cpu', averageUtilization: percent }, pods, groupPods(pods, metrics, 'cpu', NOW), metrics, {
    up: 0.1,
    down: 0.1,
  })
}

describe('replica calculation', () => {
  it.each([
    [3, 50, [1000, 1000, 1000], 6],
    [3, 100, [300, 300, 300], 1],
    [3, 50, [520, 530, 540], 3],
    // A Pod without a figure holds back both directions.
    [3, 50, [1000, 1000, undefined], 4],
    [3, 50, [100, 100, undefined], 3],
  ] as const)('%i replicas, target %i %%, usage %j', (current, percent, values, want) => {
    expect(compute(current, percent, [...values]).replicas).toBe(want)
  })
})

describe('scaling behaviour', () => {
  const hpa = { spec: { maxReplicas: 100, minReplicas: 1 } } as unknown as HorizontalPodAutoscaler

  it('rises at most to the double or by four in 15 s, and falls only after five minutes', () => {
    const history = new ScalingHistory()
    const up = history.limit(hpa, 3, 50, NOW)
    expect([up.replicas, up.limited[1]]).toEqual([7, 'ScaleUpLimit'])
    history.scaled(3, 7, NOW)
    expect(history.limit(hpa, 7, 50, NOW + 5_000).replicas).toBe(7)
    const down = history.limit(hpa, 7, 1, NOW + 60_000)
    expect([down.replicas, down.able[0]]).toEqual([7, 'ScaleDownStabilized'])
    expect(history.limit(hpa, 7, 1, NOW + 400_000).replicas).toBe(1)
  })
})

describe('horizontal pod autoscaler on the API server', () => {
  it('raises to the minimum and says what it cannot measure', async () => {
    const h = await realHarness()
    await h.start(new HorizontalController(h.context))
    const make = async (name: string, spec: object) => {
      const labels = { app: name }
      const deployment = {
        metadata: { name },
        spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'x' }] } } },
      }
      if (name !== 'ghost') await h.create(resources.appsv1.deployments, deployment)
      const metrics = [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }]
      await h.create(resources.autoscalingv2.horizontalpodautoscalers, {
        metadata: { name },
        spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name }, maxReplicas: 5, minReplicas: 1, metrics, ...spec },
      })
    }
    await make('auto', {})
    await make('low', { minReplicas: 3 })
    await make('ghost', {})
    await h.clock.advance(20_000)
    const conditions = async (name: string) =>
      (await h.client.resource(resources.autoscalingv2.horizontalpodautoscalers).namespace('default').get(name)).status.conditions?.map(
        (c) => `${c.type}=${c.status} ${c.reason} ${c.message}`,
      )
    expect(await conditions('auto')).toEqual([
      "AbleToScale=True SucceededGetScale the HPA controller was able to get the target's current scale",
      'ScalingActive=False FailedGetResourceMetric the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)',
    ])
    expect(await conditions('ghost')).toEqual([
      `AbleToScale=False FailedGetScale the HPA controller was unable to get the target's current scale: deployments.apps "ghost" not found`,
    ])
    expect((await h.client.resource(resources.appsv1.deployments).namespace('default').get('low')).spec.replicas).toBe(3)
    expect(await h.events('horizontal-pod-autoscaler')).toContain(
      'Normal SuccessfulRescale New size: 3; reason: Current number of replicas below Spec.MinReplicas',
    )
    await h.stop()
  })
})
