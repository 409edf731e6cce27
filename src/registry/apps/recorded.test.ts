import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { builtinTypes } from '../../api/types.ts'
import { newInvalid } from '../../apimachinery/errors.ts'
import { FieldPath } from '../../apimachinery/field.ts'
import { decodeJSON } from '../../apimachinery/json/index.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import { quote } from '../../apimachinery/quote.ts'
import { objectNameRule, validateObjectMeta } from '../../apimachinery/validation/index.ts'
import type { KindRegistration, StrategyContext } from '../../apiserver/registry/strategy.ts'
import { goldenFolder } from '../../testing/golden.ts'
import { batchKinds } from '../batch/kinds.ts'
import { podKinds } from '../core/pod/kinds.ts'
import { appsKinds } from './kinds.ts'

const golden = goldenFolder('recorded')

const OFF = new Set(['MaxUnavailableStatefulSet', 'PodCertificateRequest', 'ClusterTrustBundleProjection', 'ContainerStopSignals', 'GenericWorkload'])
const context: StrategyContext = {
  user: undefined,
  namespace: 'ns',
  dryRun: false,
  now: () => 0,
  uuid: () => 'u',
  random: () => 0,
  isFeatureEnabled: (gate) => !OFF.has(gate),
}

interface Step {
  do?: string
  body?: { metadata?: object }
  want?: {
    status: number
    body?: Record<string, unknown> & { message?: string; details?: { causes?: { field: string; message: string }[] } }
    warning?: string
  }
}

function creates(file: string, resource: string): { name: string; step: Step }[] {
  const text = readFileSync(`${golden}/${file}`, 'utf8').replaceAll(/\{(ns|id|uid)\}/g, '$1')
  return (JSON.parse(text) as { name: string; steps: Step[] }[]).flatMap(({ name, steps }) =>
    steps
      // An empty label map and none are the same once decoded; upstream prints them differently.
      .filter(
        (s) =>
          !s.want?.body?.message?.includes('Invalid value: {}: `selector`') &&
          s.do?.startsWith('POST') &&
          s.do.endsWith(`/${resource}`) &&
          s.body &&
          [201, 422].includes(s.want?.status ?? 0),
      )
      .map((step, i) => ({ name: `${name} #${i}`, step })),
  )
}

const packageOf = (kind: KindRegistration) => `k8s.io/api/${kind.group === '' ? 'core' : kind.group}/${kind.storage.version}`

function create(kind: KindRegistration, body: object): { object: KubeObject; message: string; causes: string[]; warnings: string[] } {
  const object = decodeJSON(JSON.stringify(body), builtinTypes.structType(`${packageOf(kind)}.${kind.storage.kind}`)).object as unknown as KubeObject
  object.metadata.namespace = 'ns'
  object.metadata.uid = 'uid'
  const { strategy } = kind
  strategy.defaults?.(object)
  strategy.prepareForCreate?.(object, context)
  const rule = objectNameRule(strategy.nameRule)
  const errs = [
    ...validateObjectMeta(object.metadata, { namespaced: true, nameRule: rule }, FieldPath.root('metadata')),
    ...(strategy.validate?.(object, context) ?? []),
  ]
  return {
    object,
    message: errs.length === 0 ? '' : newInvalid({ group: kind.group, kind: kind.storage.kind }, object.metadata.name ?? '', errs).message,
    causes: errs.map((e) => `${e.field}|${e.body}`),
    warnings: strategy.warningsOnCreate?.(object, context) ?? [],
  }
}

describe.skipIf(!golden)('workloads are created and refused as recorded', () => {
  const kinds = [...podKinds, ...appsKinds, ...batchKinds].filter((k) => k.resource !== 'pods')
  for (const kind of kinds) {
    const files = kind.group === '' ? ['core-rc-podtemplate.json'] : [`groups-${kind.group}.json`, `groups-nokcm-${kind.group}.json`]
    const rows = files.flatMap((file) => creates(file, kind.resource))
    it.each(rows.map((r) => [`${kind.resource} ${r.name} ${JSON.stringify(r.step.body?.metadata ?? {}).slice(0, 50)}`, r.step] as const))(
      '%s',
      (_name, { body, want }) => {
        const got = create(kind, body as object)
        const wanted = want?.status === 422 ? ((want.body?.message ?? want.body?.['/message']) as string | undefined) : ''
        if (wanted === undefined) expect(got.message).not.toBe('')
        else expect(got.message).toBe(wanted)
        if (want?.status === 422 && want.body?.details === undefined) return
        if (want?.status === 422) expect(got.causes).toEqual((want.body?.details?.causes ?? []).map((c) => `${c.field}|${c.message}`))
        else {
          if (want?.body?.kind === kind.storage.kind && want.body.spec) expect((got.object as unknown as Record<string, unknown>).spec).toEqual(want.body.spec)
          expect(got.warnings.map((w) => `299 - ${quote(w)}`).join(', ')).toBe((want?.warning ?? '').startsWith('299 - "unknown') ? '' : (want?.warning ?? ''))
        }
      },
    )
  }
})
