import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { goldenFolder } from '../../../testing/golden.ts'
import { violations, violationsText } from './evaluate.ts'
import { levelText, policyErrors, policyOf } from './level.ts'
import type { PodView } from './pod.ts'

const golden = goldenFolder('recorded')

describe.skipIf(!golden)('refused as recorded', () => {
  interface Step {
    do?: string
    body?: { metadata?: { name?: string }; spec?: PodView['spec'] }
    want?: { status: number; body?: Record<string, unknown> }
  }
  const scenarios = golden ? (JSON.parse(readFileSync(join(golden, 'core-pod-admission.json'), 'utf8')) as { name: string; steps: Step[] }[]) : []
  const rows = (['baseline', 'restricted'] as const).flatMap((level) =>
    (scenarios.find((s) => s.name === `pod/admission/podsecurity-${level}`)?.steps ?? [])
      .filter((s) => s.do?.endsWith('/pods') && s.body?.spec)
      .map((s) => [`${level} ${s.body?.metadata?.name}`, level, s] as const),
  )
  test.each(rows)('%s', (_name, level, { body, want }) => {
    const policy = policyOf({ 'pod-security.kubernetes.io/enforce': level })
    const found = violations({ metadata: {}, spec: body?.spec as PodView['spec'] }, policy.enforce)
    const text = found.length
      ? `pods "${body?.metadata?.name}" is forbidden: violates PodSecurity "${levelText(policy.enforce)}": ${violationsText(found)}`
      : null
    expect(text).toBe(want?.body?.['/message'])
  })
})

test('labels', () => {
  const labels = { 'pod-security.kubernetes.io/enforce': 'strictest', 'pod-security.kubernetes.io/warn-version': 'v0' }
  expect(policyErrors(labels).map((e) => `${e.field}: ${e.body}`)).toEqual([
    'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strictest": must be one of privileged, baseline, restricted',
    'metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "v0": must be "latest" or "v1.x"',
  ])
  expect(levelText(policyOf(labels).enforce)).toBe('restricted:latest')
  expect(levelText(policyOf({ 'pod-security.kubernetes.io/warn': 'baseline', 'pod-security.kubernetes.io/warn-version': 'v1.30' }).warn)).toBe('baseline:v1.30')
})

test('a check counts from its version on', () => {
  const pod = {
    metadata: {},
    spec: { containers: [{ name: 'c', livenessProbe: { httpGet: { host: 'h', port: 1 } } }], hostUsers: false },
  } as unknown as PodView
  expect(violations(pod, { level: 'baseline', minor: 33 })).toEqual([])
  expect(violationsText(violations(pod, { level: 'baseline', minor: 34 }))).toBe('probe or lifecycle host (container "c" uses probe or lifecycle host "h")')
  const ids = (minor: number) => violations(pod, { level: 'restricted', minor }).map((v) => v.reason)
  expect(ids(34)).toContain('runAsNonRoot != true')
  expect(ids(35)).not.toContain('runAsNonRoot != true')
})
