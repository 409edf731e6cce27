import { describe, expect, it } from 'vitest'
import { createFeatureGates, createLogger, createMetricsRegistry, HealthChecks, MemoryLogSink, parseFeatureGates } from './index.ts'

describe('component base', () => {
  it('writes klog lines and obeys verbosity', () => {
    const sink = new MemoryLogSink()
    const log = createLogger({ component: 'kube-x', sink, clock: { now: () => Date.UTC(2026, 0, 2, 3, 4, 5) + 678.5 }, verbosity: 2 })
    log.with({ a: 1 }).info('hello "you"', { b: 'x y', c: undefined })
    log.v(3).info('unseen')
    log.v(2).info('seen')
    log.error('bad', { err: new Error('why') })
    expect(sink.lines()).toEqual([
      'I0102 03:04:05.678500       1 kube-x] "hello \\"you\\"" a=1 b="x y"',
      'I0102 03:04:05.678500       1 kube-x] "seen"',
      'E0102 03:04:05.678500       1 kube-x] "bad" err="why"',
    ])
  })

  it('knows the gates, their defaults and locks', () => {
    const gates = createFeatureGates()
    expect(gates.enabled('MaxUnavailableStatefulSet')).toBe(false)
    expect(gates.enabled('StaleControllerConsistencyReplicaSet')).toBe(true)
    expect(gates.enabled('WorkloadWithJob')).toBe(false)
    expect(createFeatureGates({ AllAlpha: true }).enabled('WorkloadWithJob')).toBe(true)
    expect(createFeatureGates({ AllAlpha: true, WorkloadWithJob: false }).enabled('WorkloadWithJob')).toBe(false)
    expect(() => createFeatureGates({ Nope: true })).toThrow('unrecognized feature gate: Nope')
    expect(parseFeatureGates('A=true,B=f')).toEqual({ A: true, B: false })
  })

  it('answers health requests', async () => {
    const checks = new HealthChecks('livez', [{ name: 'ping', check() {} }])
    expect(await checks.answer()).toEqual({ status: 200, body: 'ok' })
    checks.add({
      name: 'bad',
      check() {
        throw new Error('secret')
      },
    })
    expect(await checks.answer()).toEqual({ status: 500, body: '[+]ping ok\n[-]bad failed: reason withheld\nlivez check failed\n' })
    expect((await checks.answer({ verbose: true, exclude: ['bad'] }))?.body).toBe('[+]ping ok\n[+]bad excluded: ok\nlivez check passed\n')
    expect(await checks.answer({ only: 'none' })).toBeUndefined()
  })

  it('exposes metrics', async () => {
    const registry = await createMetricsRegistry()
    registry.counter({ name: 'x_total', help: 'Things', labels: ['a'] }).inc({ a: '1' })
    registry.counter({ name: 'x_total', help: 'Things', labels: ['a'] }).inc({ a: '1' })
    expect(await registry.expose()).toContain('# HELP x_total [ALPHA] Things\n# TYPE x_total counter\nx_total{a="1"} 2')
  })
})
