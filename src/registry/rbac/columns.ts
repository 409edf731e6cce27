import type { rbacv1 } from '../../api/index.ts'
import type { TableColumns } from '../../apiserver/registry/strategy.ts'
import { ageOf } from '../../component-helpers/age.ts'

const column = (name: string, priority: number, format = '', description = '') => ({ name, type: 'string', format, description, priority })

/** Columns of both kinds of bindings. */
export const bindingColumns: TableColumns<rbacv1.RoleBinding> = {
  columns: [column('Name', 0, 'name'), column('Role', 0), column('Age', 0), column('Users', 1), column('Groups', 1), column('ServiceAccounts', 1)],
  cells({ metadata, roleRef, subjects = [] }, now) {
    const names = (kind: string) =>
      subjects
        .filter((s) => s.kind === kind)
        .map((s) => (kind === 'ServiceAccount' ? `${s.namespace ?? ''}/${s.name}` : s.name))
        .join(', ')
    return [metadata.name, `${roleRef.kind}/${roleRef.name}`, ageOf(metadata.creationTimestamp, now), names('User'), names('Group'), names('ServiceAccount')]
  },
}
