import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../apimachinery/object.ts'
import { goldenFolder } from '../../testing/golden.ts'
import { convertAutoscaler } from './conversion.ts'

const golden = goldenFolder('recorded')

const v1 = { group: 'autoscaling', version: 'v1', kind: 'HorizontalPodAutoscaler' }
const v2 = { group: 'autoscaling', version: 'v2', kind: 'HorizontalPodAutoscaler' }

/** Pairs of one object as both versions showed it, one right after the other. */
function recordedPairs(): { new: KubeObject; old: KubeObject }[] {
  const scenarios = JSON.parse(readFileSync(join(golden, 'groups-nokcm-autoscaling.json'), 'utf8')) as {
    steps: { do?: string; want?: { status: number; body?: KubeObject } }[]
  }[]
  const out: { new: KubeObject; old: KubeObject }[] = []
  for (const { steps } of scenarios) {
    const shown = steps.filter((s) => s.want?.status === 200 || s.want?.status === 201).map((s) => s.want?.body as KubeObject)
    for (const [i, body] of shown.entries()) {
      const next = shown[i + 1]
      if (!next || next.metadata?.name !== body.metadata?.name) continue
      if (body.apiVersion === 'autoscaling/v2' && next.apiVersion === 'autoscaling/v1' && steps[i + 1]?.do?.startsWith('GET'))
        out.push({ new: body, old: next })
    }
  }
  return out
}

describe.skipIf(!golden)('autoscalers', () => {
  it('are shown by autoscaling/v1 as recorded', () => {
    const pairs = recordedPairs()
    expect(pairs.length).toBeGreaterThan(0)
    for (const pair of pairs) expect(convertAutoscaler(pair.new, v1)).toEqual(pair.old)
  })

  it('keep everything on the way there and back', () => {
    for (const { new: item } of recordedPairs()) expect(convertAutoscaler(convertAutoscaler(item, v1), v2).metadata).toEqual(item.metadata)
  })
})

describe('parts of autoscalers', () => {
  const parts = [
    {},
    { spec: {} },
    {
      spec: {
        metrics: ['Object', 'Pods', 'Resource', 'ContainerResource', 'External'].map((type) => ({ type, [`${type[0]?.toLowerCase()}${type.slice(1)}`]: {} })),
      },
    },
    {
      status: {
        currentMetrics: ['Object', 'Pods', 'Resource', 'ContainerResource', 'External'].map((type) => ({
          type,
          [`${type[0]?.toLowerCase()}${type.slice(1)}`]: {},
        })),
      },
    },
  ]
  it.each(parts)('convert as well, as apply has them: %j', (part) => {
    const item = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', metadata: { name: 'h' }, ...part } as unknown as KubeObject
    const old = convertAutoscaler(item, v1) as unknown as { spec: object }
    expect(old.spec).toMatchObject({ scaleTargetRef: { kind: '', name: '' }, maxReplicas: 0 })
    expect(convertAutoscaler(old as unknown as KubeObject, v2).apiVersion).toBe('autoscaling/v2')
  })
})
