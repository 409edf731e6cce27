import type { corev1 } from '../../../api/index.ts'
import type { KindRegistration } from '../../../apiserver/registry/strategy.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { column } from '../../columns.ts'

type ServiceAccount = corev1.ServiceAccount

const ENFORCE = 'kubernetes.io/enforce-mountable-secrets'

function warnings(account: ServiceAccount): string[] {
  return Object.hasOwn(account.metadata.annotations ?? {}, ENFORCE)
    ? [`metadata.annotations[${ENFORCE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`]
    : []
}

/** Of a reference to a Secret only the name says anything: it is of the account's own namespace. */
function bareReferences(account: ServiceAccount): void {
  if (account.secrets) account.secrets = account.secrets.map(({ name }) => (name === undefined ? {} : { name }))
}

export const serviceAccountKind: KindRegistration<ServiceAccount> = {
  group: '',
  resource: 'serviceaccounts',
  storage: { group: '', version: 'v1', kind: 'ServiceAccount' },
  strategy: {
    prepareForCreate: bareReferences,
    prepareForUpdate: bareReferences,
    warningsOnCreate: warnings,
    warningsOnUpdate: warnings,
    returnDeletedObject: true,
  },
  columns: {
    columns: [column('Name', { format: 'name' }), column('Age')],
    cells: ({ metadata }, now) => [metadata.name, ageOf(metadata.creationTimestamp, now)],
  },
}
