import type { coordinationv1 } from '../../api/index.ts'
import { type ErrorList, FieldPath, forbidden, invalid, notSupported } from '../../apimachinery/field.ts'
import { NON_NEGATIVE } from '../../apimachinery/validation/messages.ts'
import { isConfigMapKey, isQualifiedName } from '../../apimachinery/validation/names.ts'
import type { KindRegistration, StrategyContext } from '../../apiserver/registry/strategy.ts'
import { leaseCandidateColumns, leaseColumns } from './columns.ts'

type Lease = coordinationv1.Lease

const SPEC = FieldPath.root('spec')
const STRATEGIES = ['OldestEmulationVersion']

function validate({ spec }: Lease): ErrorList {
  const errors: ErrorList = []
  const { leaseDurationSeconds: duration, leaseTransitions: transitions, strategy, preferredHolder } = spec ?? {}
  if (duration !== undefined && duration <= 0) errors.push(invalid(SPEC.child('leaseDurationSeconds'), duration, 'must be greater than 0'))
  if (transitions !== undefined && transitions < 0) errors.push(invalid(SPEC.child('leaseTransitions'), transitions, NON_NEGATIVE))
  if (strategy !== undefined) {
    if (!strategy.includes('/')) {
      if (!STRATEGIES.includes(strategy)) errors.push(notSupported(SPEC.child('strategy'), strategy, STRATEGIES))
    } else for (const text of isQualifiedName(strategy)) errors.push(invalid(SPEC.child('strategy'), strategy, text))
  }
  if (preferredHolder && !strategy) errors.push(forbidden(SPEC.child('preferredHolder'), 'may only be specified if `strategy` is defined'))
  return errors
}

/** Fields of coordinated leader election are there only with its gate, or in objects that have them already. */
function dropCoordination({ spec }: Lease, old: Lease | undefined, context: StrategyContext): void {
  if (!spec || context.isFeatureEnabled('CoordinatedLeaderElection')) return
  if (old?.spec?.strategy === undefined) delete spec.strategy
  if (old?.spec?.preferredHolder === undefined) delete spec.preferredHolder
}

const group = 'coordination.k8s.io'

const leaseKind: KindRegistration<Lease> = {
  group,
  resource: 'leases',
  storage: { group, version: 'v1', kind: 'Lease' },
  strategy: {
    generation: 'none',
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: false,
    prepareForCreate: (lease, context) => dropCoordination(lease, undefined, context),
    validate,
    prepareForUpdate: dropCoordination,
    validateUpdate: validate,
  },
  columns: leaseColumns,
}

export const coordinationKinds = [
  leaseKind,
  {
    group,
    resource: 'leasecandidates',
    storage: { group, version: 'v1beta1', kind: 'LeaseCandidate' },
    strategy: { nameRule: (name: string) => isConfigMapKey(name), allowCreateOnUpdate: true, allowUnconditionalUpdate: false },
    columns: leaseCandidateColumns,
  },
] as unknown as KindRegistration[]
