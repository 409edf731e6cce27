import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { builtinTypes } from '../../src/api/types.ts'
import { StatusError } from '../../src/apimachinery/errors.ts'
import { applyStrategicMergePatch, goFormat, restoreError } from '../../src/apimachinery/patch/index.ts'
import type { StructSchema } from '../../src/apimachinery/schema/schema.ts'
import { deepFreeze } from '../../src/base/deep-freeze.ts'

type Json = Record<string, unknown>
const isMap = (v: unknown): v is Json => v !== null && typeof v === 'object' && !Array.isArray(v)

const recorded = new URL('../../../shared/golden/recorded/patch-strategic.json', import.meta.url)
interface Step {
  do?: string
  headers?: Record<string, string>
  body?: unknown
  want?: { status: number; body: unknown }
}

describe.skipIf(!existsSync(recorded) && !process.env['CI'])('recorded answers', () => {
  const types: Record<string, string> = {
    PodTemplate: 'core',
    Service: 'core',
    ConfigMap: 'core',
    Role: 'rbac',
    RoleBinding: 'rbac',
    ClusterRole: 'rbac',
    Ingress: 'networking',
  }
  const scenarios = JSON.parse(readFileSync(recorded, 'utf8')) as { name: string; steps: Step[] }[]
  let compared = 0
  for (const scenario of scenarios) {
    if (scenario.name.endsWith('owner-references-by-uid')) continue // its merge keys are scrubbed
    test(scenario.name, () => {
      let live: Json | undefined
      for (const step of scenario.steps) {
        const want = step.want?.body as Json | undefined
        const kind = String(live?.['kind'])
        if (live && types[kind] && step.headers?.['content-type'] === 'application/strategic-merge-patch+json' && isMap(step.body)) {
          const schema: StructSchema = builtinTypes.structType(`k8s.io/api/${types[kind]}/v1.${kind}`)
          let actual: unknown
          try {
            actual = applyStrategicMergePatch(deepFreeze(live), deepFreeze(step.body), schema)
            const misfit = restoreError(actual, schema)
            if (misfit)
              actual = new StatusError({ code: 422, reason: 'Invalid', message: ` "" is invalid: patch: Invalid value: "${goFormat(step.body)}": ${misfit}` })
          } catch (e) {
            actual = e
          }
          if (step.want?.status === 200 && want?.['kind'] === kind) {
            expect(actual).not.toBeInstanceOf(Error)
            expectWithin(actual, want, '')
            compared++
          } else if (
            want?.['kind'] === 'Status' &&
            (step.want?.status === 500 || step.want?.status === 400 || actual instanceof Error) &&
            !/name of the object|namespace of/.test(String(want['message']))
          ) {
            expect(actual).toMatchObject({ code: step.want?.status, message: want['message'] })
            compared++
          }
        }
        if (want && typeof want['kind'] === 'string' && want['kind'] !== 'Status') live = want
      }
    })
  }
  test('many were compared', () => expect(compared).toBeGreaterThan(60))
})

/** What the patch says must be in the answer; defaults may have been added, nulls and unknown fields dropped. */
function expectWithin(actual: unknown, want: unknown, path: string): void {
  if (isMap(actual) && isMap(want)) {
    for (const key of Object.keys(actual)) {
      if (path === '.metadata' && ['generation', 'resourceVersion', 'managedFields'].includes(key)) continue
      if (Object.hasOwn(want, key)) expectWithin(actual[key], want[key], `${path}.${key}`)
      else expect(isEmpty(actual[key]) || UNKNOWN.has(key), `${path}.${key} is not in the answer`).toBe(true)
    }
  } else if (Array.isArray(actual) && Array.isArray(want)) {
    expect(actual.length, path).toBe(want.length)
    actual.forEach((x, i) => {
      expectWithin(x, want[i], `${path}[${i}]`)
    })
  } else if (!isEmpty(actual)) expect(actual, path).toEqual(want)
}

/** Fields the scenarios send that no type has. */
const UNKNOWN = new Set(['colour', 'shade'])

function isEmpty(value: unknown): boolean {
  if (value === null || value === '' || value === 0 || value === false) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}
