import { expect, test } from 'vitest'
import type { Pod, PodStatus } from '../../api/core/v1/types.generated.ts'
import { statusPatch } from './status-patch.ts'

const pod = (status: PodStatus): Pod => ({ metadata: { name: 'p', uid: 'u' }, spec: { containers: [] }, status }) as unknown as Pod

test('nothing to write: nulls of the API are absent fields', () => {
  const status: PodStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: 't' }] }
  expect(
    statusPatch(pod({ ...status, conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null as never, lastTransitionTime: 't' }] }), status),
  ).toBeUndefined()
})

test('changed fields alone, removed ones as null, the uid always', () => {
  expect(statusPatch(pod({ phase: 'Pending', reason: 'x', podIP: '1.1.1.1' }), { phase: 'Running', podIP: '1.1.1.1' })).toEqual({
    metadata: { uid: 'u' },
    status: { phase: 'Running', reason: null },
  })
})

test("others' conditions stay, first; the kubelet's keep its order", () => {
  const have: PodStatus = {
    conditions: [
      { type: 'Ready', status: 'False' },
      { type: 'mine', status: 'True' },
    ],
  }
  const patch = statusPatch(pod(have), {
    conditions: [
      { type: 'Initialized', status: 'True' },
      { type: 'Ready', status: 'True' },
    ],
  }) as { status: Record<string, unknown> }
  expect(patch.status['$setElementOrder/conditions']).toEqual([{ type: 'mine' }, { type: 'Initialized' }, { type: 'Ready' }])
  expect((patch.status['conditions'] as { type: string }[]).map((c) => c.type)).toEqual(['Initialized', 'Ready'])
})
