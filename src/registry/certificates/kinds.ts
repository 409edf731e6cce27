import type { certificatesv1 } from '../../api/index.ts'
import { humanDuration } from '../../apimachinery/duration.ts'
import { formatTime } from '../../apimachinery/time.ts'
import type { KindRegistration, StrategyContext, SubresourceStrategy, TableColumns } from '../../apiserver/registry/strategy.ts'
import { deepCopy } from '../../base/index.ts'
import { ageOf } from '../../component-helpers/age.ts'
import { validateCsr, validateCsrUpdate } from './validation.ts'

type Csr = certificatesv1.CertificateSigningRequest

const column = (name: string, format = '') => ({ name, type: 'string', format, description: '', priority: 0 })

const columns: TableColumns<Csr> = {
  columns: [column('Name', 'name'), column('Age'), column('SignerName'), column('Requestor'), column('RequestedDuration'), column('Condition')],
  cells({ metadata, spec, status }, now) {
    const duration = spec.expirationSeconds === undefined ? '<none>' : humanDuration(spec.expirationSeconds * 1000)
    const has = (type: string) => status?.conditions?.some((c) => c.type === type) ?? false
    const state = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending'
    const condition = `${state}${has('Failed') ? ',Failed' : ''}${status?.certificate ? ',Issued' : ''}`
    return [metadata.name, ageOf(metadata.creationTimestamp, now), spec.signerName ?? '<none>', spec.username ?? '', duration, condition]
  },
}

/** New conditions get their times; those whose status did not change keep the time of the change. */
function stampConditions(csr: Csr, old: Csr, context: StrategyContext): void {
  const now = formatTime(context.now())
  for (const condition of csr.status?.conditions ?? []) {
    condition.lastUpdateTime ||= now
    if (condition.lastTransitionTime) continue
    const before = old.status?.conditions?.find((c) => c.type === condition.type)
    condition.lastTransitionTime = before && before.status === condition.status ? (before.lastTransitionTime ?? now) : now
  }
}

const approval: SubresourceStrategy<Csr> = {
  prepareForUpdate(csr, old, context) {
    stampConditions(csr, old, context)
    const conditions = csr.status?.conditions
    csr.spec = deepCopy(old.spec)
    csr.status = { ...deepCopy(old.status), ...(conditions?.length ? { conditions } : { conditions: undefined }) } as Csr['status']
    if (!conditions?.length) delete csr.status.conditions
  },
  validateUpdate: (csr, old) => validateCsrUpdate(csr, old, { approve: true }),
}

const status: SubresourceStrategy<Csr> = {
  prepareForUpdate(csr, old, context) {
    csr.spec = deepCopy(old.spec)
    // Approved and Denied are set through approval alone: what is there is put back, and adding or dropping one is refused.
    for (const condition of csr.status?.conditions ?? []) {
      if (condition.type !== 'Approved' && condition.type !== 'Denied') continue
      const before = old.status?.conditions?.find((c) => c.type === condition.type)
      if (before) Object.assign(condition, before)
    }
    stampConditions(csr, old, context)
  },
  validateUpdate: (csr, old) => validateCsrUpdate(csr, old, { issue: true }),
}

export const certificatesKinds: readonly KindRegistration[] = [
  {
    group: 'certificates.k8s.io',
    resource: 'certificatesigningrequests',
    storage: { group: 'certificates.k8s.io', version: 'v1', kind: 'CertificateSigningRequest' },
    strategy: {
      nameRule: 'none',
      generation: 'none',
      prepareForCreate(csr: Csr, { user }: StrategyContext) {
        const { username: _, uid: __, groups: ___, extra: ____, ...asked } = csr.spec
        csr.spec = {
          ...asked,
          ...(user?.name ? { username: user.name } : {}),
          ...(user?.uid ? { uid: user.uid } : {}),
          ...(user?.groups.length ? { groups: [...user.groups] } : {}),
          ...(user?.extra && Object.keys(user.extra).length ? { extra: deepCopy(user.extra) as Record<string, string[]> } : {}),
        }
        csr.status = {} as Csr['status']
      },
      prepareForUpdate(csr: Csr, old: Csr) {
        csr.spec = deepCopy(old.spec)
        csr.status = deepCopy(old.status)
      },
      validate: validateCsr,
      validateUpdate: (csr: Csr, old: Csr) => validateCsrUpdate(csr, old, {}),
      selectableFieldLabels: ['spec.signerName'],
      selectableFields: (csr: Csr) => ({ 'spec.signerName': csr.spec.signerName ?? '' }),
    },
    status,
    subresources: { approval },
    columns,
  } as unknown as KindRegistration,
]
