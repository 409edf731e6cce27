import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Pod } from '../../../api/core/v1/types.generated.ts'
import { builtinTypes } from '../../../api/types.ts'
import { newInvalid } from '../../../apimachinery/errors.ts'
import { FieldPath } from '../../../apimachinery/field.ts'
import { decodeJSON } from '../../../apimachinery/json/index.ts'
import { quote } from '../../../apimachinery/quote.ts'
import { validateObjectMeta } from '../../../apimachinery/validation/index.ts'
import type { StrategyContext } from '../../../apiserver/registry/strategy.ts'
import { goldenFolder } from '../../../testing/golden.ts'
import { podStrategy } from './strategy.ts'

const golden = goldenFolder('recorded')

const OFF = new Set([
  'SELinuxMount',
  'ClusterTrustBundleProjection',
  'PodCertificateRequest',
  'ContainerStopSignals',
  'GenericWorkload',
  'TaintTolerationComparisonOperators',
  'UserNamespacesHostNetworkSupport',
])
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
  want?: { status: number; body?: { message?: string; details?: { causes?: { field: string; message: string; reason: string }[] } }; warning?: string }
}

function posts(file: string): { name: string; step: Step }[] {
  const scenarios = JSON.parse(readFileSync(`${golden}/${file}`, 'utf8').replaceAll(/\{(ns|id)\}/g, '$1')) as { name: string; steps: Step[] }[]
  return scenarios.flatMap(({ name, steps }) =>
    steps
      .filter(
        (s) => s.do?.startsWith('POST /api/v1/namespaces/ns/pods') && !/dryRun=Some|fieldValidation=Loud/.test(s.do) && /\/pods(\?.*)?$/.test(s.do) && s.body,
      )
      .map((step, i) => ({ name: `${name} #${i}`, step })),
  )
}

/** What admission adds before validation: the service account. */
function admit(pod: Pod): void {
  if (pod.spec && !pod.spec.serviceAccountName && !pod.metadata.annotations?.['kubernetes.io/config.mirror']) pod.spec.serviceAccountName = 'default'
}

function create(body: object): { message: string; causes: string; warnings: string[] } {
  const pod = decodeJSON(JSON.stringify(body), builtinTypes.structType('k8s.io/api/core/v1.Pod')).object as unknown as Pod
  pod.metadata.namespace = 'ns'
  podStrategy.defaults?.(pod)
  admit(pod)
  podStrategy.prepareForCreate?.(pod, context)
  const errs = [...validateObjectMeta(pod.metadata, { namespaced: true }, FieldPath.root('metadata')), ...(podStrategy.validate?.(pod, context) ?? [])]
  const status = newInvalid({ group: '', kind: 'Pod' }, pod.metadata.name ?? '', errs)
  return {
    message: errs.length === 0 ? '' : status.message,
    causes: JSON.stringify(errs.map((e) => `${e.field}|${e.body}`)),
    warnings: podStrategy.warningsOnCreate?.(pod, context) ?? [],
  }
}

describe.skipIf(!golden)('Pods are refused as recorded', () => {
  for (const file of ['core-pod-validation.json', 'core-pod-validation2.json', 'core-pod-defaults.json', 'core-pod-warnings.json', 'core-pod-admission.json']) {
    const rows = posts(file).filter(({ step }) => step.want?.status === 422 || step.want?.status === 201)
    it.each(rows.map((r) => [`${file} ${r.name} ${JSON.stringify(r.step.body?.metadata ?? {}).slice(0, 60)}`, r.step] as const))('%s', (_name, step) => {
      const got = create(step.body as object)
      if (step.want?.status === 201) {
        expect(got.message).toBe('')
        if (file === 'core-pod-warnings.json') expect(got.warnings.map((w) => `299 - ${quote(w)}`).join(', ')).toBe(step.want.warning ?? '')
      } else if (step.want?.body?.message === undefined) expect(got.message).not.toBe('')
      else {
        expect(got.message).toBe(step.want?.body?.message)
        const causes = step.want?.body?.details?.causes ?? []
        expect(got.causes).toBe(JSON.stringify(causes.map((c) => `${c.field}|${c.message}`)))
      }
    })
  }
})
