import type { corev1 } from '../../../api/index.ts'
import { type ErrorList, FieldPath, invalid } from '../../../apimachinery/field.ts'
import type { DeleteOptions } from '../../../apimachinery/meta/v1/types.generated.ts'
import { formatTime } from '../../../apimachinery/time.ts'
import { isQualifiedName } from '../../../apimachinery/validation/index.ts'
import type { KindRegistration, StrategyContext } from '../../../apiserver/registry/strategy.ts'
import { deepCopy } from '../../../base/index.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { column } from '../../columns.ts'

type Namespace = corev1.Namespace

const NAME_LABEL = 'kubernetes.io/metadata.name'
const STANDARD_FINALIZERS = ['kubernetes', 'orphan', 'foregroundDeletion']

/** Every namespace carries its name as a label, whatever the user says. */
function nameLabel(namespace: Namespace): void {
  const { name } = namespace.metadata
  if (!name) return
  namespace.metadata.labels = { ...namespace.metadata.labels, [NAME_LABEL]: name }
}

function validateFinalizers(namespace: Namespace, path: (i: number) => FieldPath): ErrorList {
  return (namespace.spec.finalizers ?? []).flatMap((f, i) => {
    const errors = isQualifiedName(f).map((text) => invalid(path(i), f, text))
    if (errors.length === 0 && !f.includes('/') && !STANDARD_FINALIZERS.includes(f))
      errors.push(invalid(path(i), f, 'name is neither a standard finalizer name nor is it fully qualified'))
    return errors
  })
}

function validatePhase({ metadata, status }: Namespace): ErrorList {
  const path = FieldPath.root('status', 'Phase')
  if (!metadata.deletionTimestamp)
    return status.phase === 'Active' ? [] : [invalid(path, status.phase ?? '', "may only be 'Active' if `deletionTimestamp` is empty")]
  return status.phase === 'Terminating' ? [] : [invalid(path, status.phase ?? '', "may only be 'Terminating' if `deletionTimestamp` is not empty")]
}

export const namespaceKind: KindRegistration<Namespace> = {
  group: '',
  resource: 'namespaces',
  storage: { group: '', version: 'v1', kind: 'Namespace' },
  strategy: {
    nameRule: 'label',
    generation: 'none',
    defaults: nameLabel,
    prepareForCreate(namespace) {
      nameLabel(namespace)
      namespace.status = { phase: 'Active' } as Namespace['status']
      // The controller's own finalizer: content goes before the namespace.
      const finalizers = namespace.spec.finalizers ?? []
      if (!finalizers.includes('kubernetes')) namespace.spec.finalizers = [...finalizers, 'kubernetes']
    },
    validate: (namespace) => validateFinalizers(namespace, () => FieldPath.root('spec', 'finalizers')),
    prepareForUpdate(namespace, old) {
      if (old.spec.finalizers) namespace.spec.finalizers = [...old.spec.finalizers]
      else delete namespace.spec.finalizers
      namespace.status = deepCopy(old.status)
    },
    interceptDelete(namespace: Namespace, _: DeleteOptions, context: StrategyContext) {
      const terminating = namespace.status.phase === 'Terminating' && namespace.metadata.deletionTimestamp
      const held = (namespace.spec.finalizers?.length ?? 0) > 0
      if (!held) return 'delete'
      if (terminating) return 'keep'
      const next = deepCopy(namespace)
      next.metadata.deletionTimestamp ??= formatTime(context.now())
      next.status.phase = 'Terminating'
      return next
    },
    holdsDeletion: (namespace) => (namespace.spec.finalizers?.length ?? 0) > 0,
    returnDeletedObject: true,
    selectableFieldLabels: ['status.phase'],
    selectableFields: (namespace) => ({ 'status.phase': namespace.status.phase ?? '' }),
  },
  status: {
    prepareForUpdate(namespace, old) {
      namespace.spec = deepCopy(old.spec)
    },
    validateUpdate: validatePhase,
  },
  subresources: {
    finalize: {
      prepareForUpdate(namespace, old) {
        namespace.status = deepCopy(old.status)
      },
      validateUpdate: (namespace) => validateFinalizers(namespace, (i) => FieldPath.root('spec', 'finalizers').index(i)),
    },
  },
  columns: {
    columns: [column('Name', { format: 'name' }), column('Status'), column('Age')],
    cells: ({ metadata, status }, now) => [metadata.name, status.phase ?? '', ageOf(metadata.creationTimestamp, now)],
  },
}
