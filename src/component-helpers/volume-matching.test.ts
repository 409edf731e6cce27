import { describe, expect, it } from 'vitest'
import type { Node, PersistentVolume, PersistentVolumeClaim } from '../api/core/v1/types.generated.ts'
import { findVolume, topologyAllowed } from './volume-matching.ts'

const volume = (name: string, storage: string, spec: object = {}, status: object = { phase: 'Available' }) =>
  ({ metadata: { name }, spec: { capacity: { storage }, accessModes: ['ReadWriteOnce'], storageClassName: 'c', ...spec }, status }) as PersistentVolume
const claim = {
  metadata: { name: 'claim', namespace: 'ns', uid: 'u' },
  spec: { storageClassName: 'c', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } },
  status: {},
} as PersistentVolumeClaim
const only = (key: string) => ({ nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'Exists' }] }] } } })
const forClaim = (uid?: string) => ({ claimRef: { namespace: 'ns', name: 'claim', ...(uid ? { uid } : {}) } })
const node = { metadata: { name: 'n', labels: { here: '' } } } as unknown as Node

describe('the volume for a claim', () => {
  it.each<[string, PersistentVolume[], Parameters<typeof findVolume>[2], string | undefined]>([
    ['is the smallest that fits', [volume('a', '9Gi'), volume('b', '3Gi'), volume('c', '1Gi')], {}, 'b'],
    ['is the one that names the claim, however large', [volume('a', '3Gi'), volume('b', '9Gi', forClaim())], {}, 'b'],
    ['is not one that names an earlier claim of the name', [volume('a', '9Gi', forClaim('other')), volume('b', '9Gi')], {}, 'b'],
    ['is not one that names the claim and is too small', [volume('a', '1Gi', forClaim()), volume('b', '9Gi')], {}, 'b'],
    ['is not one that is not available', [volume('a', '2Gi', {}, { phase: 'Released' }), volume('b', '3Gi', {}, {})], {}, undefined],
    ['is not taken while the claim waits for a Pod', [volume('a', '2Gi')], { delayed: true }, undefined],
    ['but one that names it is', [volume('a', '2Gi', forClaim('u'))], { delayed: true }, 'a'],
    ['must be usable on the node', [volume('a', '2Gi', only('there')), volume('b', '3Gi', only('here'))], { node }, 'b'],
    ['that names it and is not usable there: none', [volume('a', '2Gi', { ...forClaim(), ...only('there') }), volume('b', '3Gi')], { node }, undefined],
    ['is not one promised to others', [volume('a', '2Gi'), volume('b', '3Gi')], { node, taken: new Set(['a']) }, 'b'],
  ])('%s', (_, volumes, search, expected) => {
    expect(findVolume(volumes, claim, search)?.metadata.name).toBe(expected)
  })
})

it('topologies of a class: any of them, all of its labels; none means everywhere', () => {
  const term = (...pairs: [string, string[]][]) => ({ matchLabelExpressions: pairs.map(([key, values]) => ({ key, values })) })
  expect(topologyAllowed(undefined, undefined)).toBe(true)
  expect(topologyAllowed([term(['zone', ['a', 'b']])], { zone: 'b' })).toBe(true)
  expect(topologyAllowed([term(['zone', ['a']], ['disk', ['ssd']])], { zone: 'a' })).toBe(false)
  expect(topologyAllowed([term(['zone', ['a']]), term(['disk', ['ssd']])], { disk: 'ssd' })).toBe(true)
  expect(topologyAllowed([{}], { zone: 'a' })).toBe(false)
})
