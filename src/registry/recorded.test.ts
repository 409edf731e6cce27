import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { newInvalid, type StatusError } from '../apimachinery/errors.ts'
import type { KubeObject } from '../apimachinery/object.ts'
import type { CreateContext, CreateHandler } from '../apiserver/registry/create-handler.ts'
import type { KindRegistration, StrategyContext } from '../apiserver/registry/strategy.ts'
import { goldenFolder } from '../testing/golden.ts'
import { accessReviewHandlers } from './authorization/reviews.ts'
import { certificatesKinds } from './certificates/kinds.ts'
import { limitRangeKind } from './core/limit-range/kind.ts'
import { persistentVolumeKind } from './core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from './core/persistent-volume-claim/kind.ts'
import { resourceQuotaKind } from './core/resource-quota/kind.ts'
import { rbacKinds } from './rbac/kinds.ts'
import { storageKinds } from './storage/kinds.ts'

/** Answers of the original to writes that it refuses, against the same objects put through our strategies. */
const golden = goldenFolder('recorded')
const context = {
  user: undefined,
  namespace: 'ns',
  dryRun: false,
  now: () => 0,
  uuid: () => '',
  random: () => 0,
  isFeatureEnabled: () => false,
} as StrategyContext

interface Step {
  do?: string
  body?: Record<string, unknown>
  want?: { status: number; body?: { code?: number; message?: string; reason?: string } }
}

function refusals(file: string, resource: string): { name: string; body: Record<string, unknown>; message: string }[] {
  const scenarios = JSON.parse(readFileSync(join(golden, file), 'utf8')) as { name: string; steps: Step[] }[]
  return scenarios.flatMap(({ name, steps }) =>
    steps
      .filter(
        (s) =>
          s.do?.startsWith('POST') &&
          s.do.split('?')[0]?.endsWith(`/${resource}`) &&
          s.body &&
          s.want?.status === 422 &&
          !/ metadata|\{hash\}/.test(s.want.body?.message ?? ''),
      )
      .map((s) => ({ name, body: s.body as Record<string, unknown>, message: s.want?.body?.message as string })),
  )
}

describe.skipIf(!golden)('refused as recorded', () => {
  const kinds: [string, KindRegistration][] = [
    ...rbacKinds().map((k): [string, KindRegistration] => ['groups-rbac.json', k]),
    ...certificatesKinds.map((k): [string, KindRegistration] => ['groups-certificates.json', k]),
    ...storageKinds.map((k): [string, KindRegistration] => ['groups-storage.json', k]),
    ['core-storage.json', persistentVolumeKind as KindRegistration],
    ['core-storage.json', persistentVolumeClaimKind as KindRegistration],
    ['core-limitrange.json', limitRangeKind as KindRegistration],
    ['core-resourcequota.json', resourceQuotaKind as KindRegistration],
  ]
  test.each(kinds.map(([file, kind]) => [kind.resource, file, kind] as const))('%s', (resource, file, kind) => {
    const rows = refusals(file, resource)
    expect(rows.length).toBeGreaterThan(0)
    for (const { body, message } of rows) {
      const object = { metadata: {}, spec: {}, status: {}, roleRef: { apiGroup: '', kind: '', name: '' }, ...structuredClone(body) } as unknown as KubeObject
      kind.strategy.defaults?.(object)
      kind.strategy.prepareForCreate?.(object, context)
      const errors = kind.strategy.validate?.(object, context) ?? []
      expect(newInvalid({ group: kind.group, kind: kind.storage.kind }, object.metadata.name ?? '', errors).message).toBe(message)
    }
  })

  test.each(accessReviewHandlers({ name: 'none', authorize: () => ({ decision: 'noOpinion' }) }).map((h) => [h.resource, h] as const))(
    '%s',
    async (resource, handler: CreateHandler) => {
      for (const { body, message } of refusals('groups-authz.json', resource)) {
        const object = { spec: {}, ...structuredClone(body), metadata: {} } as unknown as KubeObject
        const result = await handler.create(object, { namespace: '{ns}', user: { name: '', groups: [] } } as unknown as CreateContext).catch((e: unknown) => e)
        expect((result as StatusError).message, JSON.stringify(body)).toBe(message)
      }
    },
  )
})
