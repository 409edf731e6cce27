import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Node, Pod } from '../api/core/v1/types.generated.ts'
import { humanDuration } from '../apimachinery/duration.ts'
import { compareQuantities, milliValue, parseAmount, roundUpToMilli, wholeValue } from './amounts.ts'
import { matchesRequiredNodeAffinity } from './node-affinity.ts'
import { isPodAvailable } from './pod-conditions.ts'
import { fromAmounts, podRequests } from './pod-requests.ts'
import { summarizePod } from './pod-status.ts'
import { computeQOSClass } from './qos.ts'
import { findUntoleratedTaint, toleratesTaint } from './taints.ts'

const pod = (spec: object, status: object = {}): Pod => ({ metadata: { name: 'p' }, spec: { containers: [], ...spec }, status }) as unknown as Pod
const asks = (name: string, requests: object, rest: object = {}) => ({ name, resources: { requests }, ...rest })

describe('amounts', () => {
  it.each([
    ['1500m', '1500m', 1500, 2],
    ['0.5Gi', '512Mi', 536870912000, 536870912],
    ['1e3', '1e3', 1000000, 1000],
    ['129M', '129M', 129000000000, 129000000],
    ['1.5', '1500m', 1500, 2],
    ['-1', '-1', -1000, -1],
    ['0', '0', 0, 0],
  ])('%s is %s', (text, canonical, milli, whole) => {
    expect(parseAmount(text).toString()).toBe(canonical)
    expect(milliValue(text)).toBe(milli)
    expect(wholeValue(text)).toBe(whole)
  })

  it('keep their value in canonical form, and add up', () => {
    const quantity = fc.tuple(fc.nat(1e9), fc.constantFrom('', 'm', 'k', 'M', 'Ki', 'Mi', 'Gi')).map(([n, s]) => `${n}${s}`)
    fc.assert(
      fc.property(quantity, quantity, (a, b) => {
        expect(compareQuantities(parseAmount(a).toString(), a)).toBe(0)
        const sum = parseAmount(a).add(parseAmount(b))
        expect(parseAmount(sum.toString()).nano).toBe(parseAmount(a).nano + parseAmount(b).nano)
      }),
    )
  })

  it('have the short way to numbers say what exact arithmetic says', () => {
    const digits = fc.oneof(fc.nat(1500).map(String), fc.bigInt({ min: 0n, max: 10n ** 15n }).map(String))
    const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei', 'e3', 'i', 'mi', 'K')
    const text = fc.tuple(fc.constantFrom('', '', '-', '+'), digits, fc.constantFrom('', '', '.5', '.'), suffix).map((parts) => parts.join(''))
    fc.assert(
      fc.property(text, (t) => {
        expect([milliValue(t), wholeValue(t)]).toEqual([parseAmount(t).milliValue(), parseAmount(t).value()])
      }),
      { numRuns: 2000 },
    )
  })

  it('round up to thousandths', () => {
    expect(roundUpToMilli('0.0001')).toBe('1m')
    expect(roundUpToMilli('1500m')).toBe('1500m')
  })
})

describe('what a Pod asks for', () => {
  it('is the sum of its containers and sidecars, or the peak of initialization', () => {
    const p = pod({
      containers: [asks('a', { cpu: '100m' }), asks('b', { cpu: '200m', memory: '1Gi' })],
      initContainers: [asks('side', { cpu: '50m' }, { restartPolicy: 'Always' }), asks('once', { cpu: '1' })],
      overhead: { cpu: '10m' },
    })
    expect(fromAmounts(podRequests(p))).toEqual({ cpu: '1060m', memory: '1Gi' })
  })

  it('is what the Pod says at its own level', () => {
    expect(fromAmounts(podRequests(pod({ containers: [asks('a', { cpu: '1' })], resources: { requests: { cpu: '3' } } })))).toEqual({ cpu: '3' })
  })

  it.each([
    ['BestEffort', {}, {}],
    ['Burstable', { cpu: '1' }, {}],
    ['Burstable', { cpu: '1', memory: '1Gi' }, { cpu: '2', memory: '1Gi' }],
    ['Guaranteed', { cpu: '1000m', memory: '1Gi' }, { cpu: '1', memory: '1024Mi' }],
    ['BestEffort', { 'example.com/gpu': '1' }, { 'example.com/gpu': '1' }],
  ])('%s', (want, requests, limits) => {
    expect(computeQOSClass(pod({ containers: [{ name: 'a', resources: { requests, limits } }] }))).toBe(want)
  })
})

describe('taints', () => {
  const taint = { key: 'k', value: 'v', effect: 'NoSchedule' as const }
  it.each([
    [{ operator: 'Exists' }, true],
    [{ key: 'k', operator: 'Exists' }, true],
    [{ key: 'k', value: 'v' }, true],
    [{ key: 'k', value: 'w' }, false],
    [{ key: 'k', operator: 'Exists', effect: 'NoExecute' }, false],
    [{ key: 'k', operator: 'Gt', value: '1' }, false],
  ])('%j', (toleration, want) => {
    expect(toleratesTaint(toleration, taint)).toBe(want)
  })

  it('compare numbers where that is on', () => {
    const options = { comparisonOperators: true }
    expect(toleratesTaint({ key: 'k', operator: 'Gt', value: '5' }, { ...taint, value: '10' }, options)).toBe(true)
    expect(toleratesTaint({ key: 'k', operator: 'Lt', value: '5' }, { ...taint, value: '10' }, options)).toBe(false)
  })

  it('are found in order', () => {
    expect(findUntoleratedTaint([taint, { key: 'x', effect: 'NoExecute' }], [{ key: 'k', operator: 'Exists' }])?.key).toBe('x')
  })
})

describe('node affinity', () => {
  const node = { metadata: { name: 'n1', labels: { zone: 'a', cpus: '8' } } } as unknown as Node
  const required = (...nodeSelectorTerms: object[]) =>
    pod({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } })
  it.each([
    ['In', required({ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a', 'b'] }] }), true],
    ['NotIn of an absent key', required({ matchExpressions: [{ key: 'none', operator: 'NotIn', values: ['a'] }] }), true],
    ['Gt', required({ matchExpressions: [{ key: 'cpus', operator: 'Gt', values: ['4'] }] }), true],
    ['Lt', required({ matchExpressions: [{ key: 'cpus', operator: 'Lt', values: ['4'] }] }), false],
    ['an empty term', required({}), false],
    [
      'any of the terms',
      required({ matchExpressions: [{ key: 'zone', operator: 'DoesNotExist' }] }, { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }),
      true,
    ],
    ['a node selector', pod({ nodeSelector: { zone: 'b' } }), false],
  ])('%s', (_name, p, want) => {
    expect(matchesRequiredNodeAffinity(p, node)).toBe(want)
  })
})

describe('what tables say of a Pod', () => {
  const running = { state: { running: {} }, ready: true, restartCount: 0 }
  const scheduled = {
    phase: 'Running',
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Initialized', status: 'True' },
    ],
  }
  it.each([
    ['Pending', pod({ containers: [{}] }, { phase: 'Pending' }), 'Pending', '0/1'],
    ['Running', pod({ containers: [{}] }, { ...scheduled, containerStatuses: [{ name: 'a', ...running }] }), 'Running', '1/1'],
    [
      'CrashLoopBackOff',
      pod(
        { containers: [{}] },
        { phase: 'Running', containerStatuses: [{ name: 'a', ready: false, restartCount: 3, state: { waiting: { reason: 'CrashLoopBackOff' } } }] },
      ),
      'CrashLoopBackOff',
      '0/1',
    ],
    [
      'Init',
      pod(
        { containers: [{}], initContainers: [{ name: 'i' }, { name: 'j' }] },
        { phase: 'Pending', initContainerStatuses: [{ name: 'i', restartCount: 0, state: { running: {} } }] },
      ),
      'Init:0/2',
      '0/1',
    ],
    [
      'Completed',
      pod(
        { containers: [{}] },
        { phase: 'Succeeded', containerStatuses: [{ name: 'a', ready: false, restartCount: 0, state: { terminated: { exitCode: 0, reason: 'Completed' } } }] },
      ),
      'Completed',
      '0/1',
    ],
    [
      'a signal',
      pod(
        { containers: [{}] },
        { phase: 'Failed', containerStatuses: [{ name: 'a', ready: false, restartCount: 0, state: { terminated: { exitCode: 137, signal: 9 } } }] },
      ),
      'Signal:9',
      '0/1',
    ],
    [
      'gated',
      pod({ containers: [{}] }, { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] }),
      'SchedulingGated',
      '0/1',
    ],
  ])('%s', (_name, p, status, ready) => {
    const summary = summarizePod(p)
    expect(summary.status).toBe(status)
    expect(`${summary.ready}/${summary.total}`).toBe(ready)
  })

  it('a deleted one is terminating', () => {
    const p = pod({ containers: [{}] }, { phase: 'Running' })
    p.metadata.deletionTimestamp = '2024-01-01T00:00:00Z'
    expect(summarizePod(p).status).toBe('Terminating')
  })

  it('is available when it has been ready long enough', () => {
    const p = pod({}, { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2024-01-01T00:00:00Z' }] })
    const at = Date.parse('2024-01-01T00:00:00Z')
    expect(isPodAvailable(p, 10, at + 9_000)).toBe(false)
    expect(isPodAvailable(p, 10, at + 10_000)).toBe(true)
  })
})

describe('ages', () => {
  const [m, h, d] = [60_000, 3_600_000, 86_400_000]
  it.each([
    [-3_000, '<invalid>'],
    [-500, '0s'],
    [119_000, '119s'],
    [2 * m, '2m'],
    [5 * m + 30_000, '5m30s'],
    [179 * m, '179m'],
    [3 * h + 5 * m, '3h5m'],
    [47 * h, '47h'],
    [2 * d + 4 * h, '2d4h'],
    [8 * d, '8d'],
    [730 * d, '2y'],
    [800 * d, '2y70d'],
    [3000 * d, '8y'],
  ])('%d ms is %s', (ms, want) => {
    expect(humanDuration(ms)).toBe(want)
  })
})
