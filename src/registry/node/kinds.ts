import type { nodev1 } from '../../api/index.ts'
import { duplicate, type ErrorList, FieldPath, invalid, required } from '../../apimachinery/field.ts'
import { validateLabels } from '../../apimachinery/validation/labels.ts'
import { IMMUTABLE } from '../../apimachinery/validation/messages.ts'
import { isDNS1123Label } from '../../apimachinery/validation/names.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { deepEqual } from '../../base/index.ts'
import { validateContainerResources } from '../core/pod/validation/resources.ts'
import { validateTolerations } from '../core/pod/validation/tolerations.ts'
import { internalForm } from '../internal-form.ts'
import { runtimeClassColumns } from './columns.ts'

type RuntimeClass = nodev1.RuntimeClass

const NO_CLAIMS: ReadonlySet<string> = new Set()
const HANDLER = FieldPath.root('handler')

function validate(item: RuntimeClass): ErrorList {
  const errors: ErrorList = []
  if (!item.handler) errors.push(required(HANDLER))
  else for (const text of isDNS1123Label(item.handler)) errors.push(invalid(HANDLER, item.handler, text))
  if (item.overhead?.podFixed) errors.push(...validateContainerResources({ limits: item.overhead.podFixed }, NO_CLAIMS, FieldPath.root('overhead')))
  if (item.scheduling) {
    const path = FieldPath.root('scheduling')
    errors.push(...validateLabels(item.scheduling.nodeSelector, path.child('nodeSelector')))
    const tolerations = item.scheduling.tolerations ?? []
    const list = path.child('tolerations')
    errors.push(...validateTolerations(tolerations, list, { isPod: false, isFeatureEnabled: () => false }))
    for (const [i, t] of tolerations.entries()) {
      if (tolerations.findIndex((o) => deepEqual(o, t)) < i) errors.push(duplicate(list.index(i), internalForm('Toleration', t)))
    }
  }
  return errors
}

const runtimeClassKind: KindRegistration<RuntimeClass> = {
  group: 'node.k8s.io',
  resource: 'runtimeclasses',
  storage: { group: 'node.k8s.io', version: 'v1', kind: 'RuntimeClass' },
  strategy: {
    generation: 'none',
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: false,
    validate,
    // Only the handler is looked at: it alone has to stay.
    validateUpdate: (item, old) => (item.handler === old.handler ? [] : [invalid(HANDLER, item.handler, IMMUTABLE)]),
  },
  columns: runtimeClassColumns,
}

export const nodeKinds = [runtimeClassKind] as KindRegistration[]
