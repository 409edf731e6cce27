import { expect, test } from 'vitest'
import type { Pod } from '../../api/core/v1/types.generated.ts'
import { rank, thresholds } from './eviction-manager.ts'

const pod = (name: string, request: string, priority = 0): Pod =>
  ({ metadata: { name }, spec: { priority, containers: [{ name: 'c', resources: { requests: { memory: request } } }] }, status: {} }) as unknown as Pod

test('Pods over their request go first, then those of low priority, then the greediest', () => {
  const usage: Record<string, number> = { within: 90, over: 150, greedy: 400, important: 1000 }
  const pods = [pod('within', '100', -5), pod('important', '100', 1000), pod('over', '100'), pod('greedy', '100')]
  expect(rank(pods, 'memory', (p) => usage[p.metadata.name ?? ''] ?? 0).map((p) => p.metadata.name)).toEqual(['greedy', 'over', 'important', 'within'])
})

test('the hard thresholds', () => {
  const fine = { memoryAvailable: 2 ** 30, memoryCapacity: 2 ** 33, disk: { size: 1000, available: 500, inodes: 1000, inodesFree: 500 } }
  expect(thresholds(fine)).toEqual([])
  expect(thresholds({ ...fine, memoryAvailable: 50 * 2 ** 20 })).toEqual([{ resource: 'memory', threshold: '100Mi', available: '51200Ki' }])
  expect(thresholds({ ...fine, disk: { size: 1000, available: 99, inodes: 1000, inodesFree: 49 } }).map((t) => t.resource)).toEqual([
    'ephemeral-storage',
    'inodes',
  ])
})
