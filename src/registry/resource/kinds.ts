import type { resourcev1 } from '../../api/index.ts'
import type { ErrorList } from '../../apimachinery/field.ts'
import { FieldPath, invalid, required } from '../../apimachinery/field.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { validateLabels } from '../../apimachinery/validation/labels.ts'
import { IMMUTABLE } from '../../apimachinery/validation/messages.ts'
import type { KindRegistration, StrategyContext } from '../../apiserver/registry/strategy.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { claimColumns, claimTemplateColumns, deviceClassColumns, deviceTaintRuleColumns, resourceSliceColumns } from './columns.ts'
import { defaultClaimSpec } from './defaults.ts'

const group = 'resource.k8s.io'
const SPEC = FieldPath.root('spec')

/** A request asks either for one thing or for the first of several. */
function validateClaimSpec(spec: resourcev1.ResourceClaimSpec | undefined, path: FieldPath): ErrorList {
  return (spec?.devices?.requests ?? []).flatMap((request, i) => {
    const at = path.child('devices', 'requests').index(i)
    const several = (request.firstAvailable?.length ?? 0) > 0
    if (!request.exactly && !several) return [required(at, 'exactly one of `exactly` or `firstAvailable` is required')]
    return request.exactly && several ? [invalid(at, null, 'exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set')] : []
  })
}

const claimKind: KindRegistration<resourcev1.ResourceClaim> = {
  group,
  resource: 'resourceclaims',
  storage: { group, version: 'v1', kind: 'ResourceClaim' },
  strategy: {
    generation: 'none',
    defaults: ({ spec }) => defaultClaimSpec(spec),
    validate: ({ spec }) => validateClaimSpec(spec, SPEC),
    validateUpdate: (claim, old) => (deepEqual(claim.spec, old.spec) ? [] : [invalid(SPEC, claim.spec, IMMUTABLE)]),
  },
  status: {
    prepareForUpdate(claim, old) {
      claim.spec = deepCopy(old.spec)
      for (const field of ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const) {
        if (old.metadata[field] === undefined) delete claim.metadata[field]
        else claim.metadata[field] = old.metadata[field] as never
      }
    },
  },
  columns: claimColumns,
}

const templateKind: KindRegistration<resourcev1.ResourceClaimTemplate> = {
  group,
  resource: 'resourceclaimtemplates',
  storage: { group, version: 'v1', kind: 'ResourceClaimTemplate' },
  strategy: {
    generation: 'none',
    defaults: ({ spec }) => defaultClaimSpec(spec?.spec),
    validate: ({ spec }) => [...validateLabels(spec?.metadata?.labels, SPEC.child('metadata', 'labels')), ...validateClaimSpec(spec?.spec, SPEC.child('spec'))],
    validateUpdate: (template, old) => (deepEqual(template.spec, old.spec) ? [] : [invalid(SPEC, template.spec, IMMUTABLE)]),
  },
  columns: claimTemplateColumns,
}

/** A taint counts from when it was put on. */
function stampTaints(slice: resourcev1.ResourceSlice, context: StrategyContext): void {
  for (const device of slice.spec?.devices ?? []) for (const taint of device.taints ?? []) taint.timeAdded ??= formatTime(context.now())
}

const sliceKind: KindRegistration<resourcev1.ResourceSlice> = {
  group,
  resource: 'resourceslices',
  storage: { group, version: 'v1', kind: 'ResourceSlice' },
  strategy: {
    prepareForCreate: stampTaints,
    prepareForUpdate: (slice, _old, context) => stampTaints(slice, context),
    selectableFieldLabels: ['spec.nodeName', 'spec.driver'],
    selectableFields: ({ spec }) => ({ 'spec.nodeName': spec?.nodeName ?? '', 'spec.driver': spec?.driver ?? '' }),
  },
  columns: resourceSliceColumns,
}

export const resourceKinds = [
  { group, resource: 'deviceclasses', storage: { group, version: 'v1', kind: 'DeviceClass' }, strategy: {}, columns: deviceClassColumns },
  claimKind,
  templateKind,
  sliceKind,
  { group, resource: 'devicetaintrules', storage: { group, version: 'v1alpha3', kind: 'DeviceTaintRule' }, strategy: {}, columns: deviceTaintRuleColumns },
] as unknown as KindRegistration[]
