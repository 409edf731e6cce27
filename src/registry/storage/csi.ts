import type { storagev1 } from '../../api/index.ts'
import { duplicate, type ErrorList, FieldPath, invalid, notSupported, required } from '../../apimachinery/field.ts'
import { isDNS1123Subdomain, isQualifiedName, validateLabelSelector } from '../../apimachinery/validation/index.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { deepEqual } from '../../base/index.ts'
import { ageOf } from '../../component-helpers/age.ts'
import { parseAmount } from '../../component-helpers/amounts.ts'
import { columnList } from '../columns.ts'
import { validateCSIDriverName } from '../core/pod/validation/backend-volumes.ts'

type CSIDriver = storagev1.CSIDriver
type CSINode = storagev1.CSINode
type CSIStorageCapacity = storagev1.CSIStorageCapacity

const GROUP = 'storage.k8s.io'
const SPEC = FieldPath.root('spec')
const IMMUTABLE = 'field is immutable'
const FS_GROUP_POLICIES = ['File', 'None', 'ReadWriteOnceWithFSType']
const LIFECYCLE_MODES = ['Persistent', 'Ephemeral']
const MIN_TOKEN_SECONDS = 10 * 60
const MIN_PERIOD_SECONDS = 10

function validateTokenRequests(requests: readonly storagev1.TokenRequest[] | undefined, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  const seen = new Set<string>()
  for (const [i, { audience, expirationSeconds: seconds }] of (requests ?? []).entries()) {
    const at = path.index(i)
    if (seen.has(audience)) errors.push(duplicate(at.child('audience'), audience))
    seen.add(audience)
    if (seconds === undefined) continue
    if (seconds < MIN_TOKEN_SECONDS) errors.push(invalid(at.child('expirationSeconds'), seconds, 'may not specify a duration less than 10 minutes'))
    if (seconds > 2 ** 32) errors.push(invalid(at.child('expirationSeconds'), seconds, 'may not specify a duration larger than 2^32 seconds'))
  }
  return errors
}

function validateDriver({ spec }: CSIDriver): ErrorList {
  const errors: ErrorList = []
  if (spec.attachRequired === undefined) errors.push(required(SPEC.child('attachedRequired')))
  if (spec.podInfoOnMount === undefined) errors.push(required(SPEC.child('podInfoOnMount')))
  if (spec.storageCapacity === undefined) errors.push(required(SPEC.child('storageCapacity')))
  if (spec.fsGroupPolicy !== undefined && !FS_GROUP_POLICIES.includes(spec.fsGroupPolicy)) {
    errors.push(notSupported(SPEC.child('fsGroupPolicy'), spec.fsGroupPolicy, FS_GROUP_POLICIES))
  }
  errors.push(...validateTokenRequests(spec.tokenRequests, SPEC.child('tokenRequests')))
  for (const mode of spec.volumeLifecycleModes ?? []) {
    if (!LIFECYCLE_MODES.includes(mode)) errors.push(notSupported(SPEC.child('volumeLifecycleModes'), mode, LIFECYCLE_MODES))
  }
  const period = spec.nodeAllocatableUpdatePeriodSeconds
  if (period !== undefined && period < MIN_PERIOD_SECONDS) {
    errors.push(invalid(SPEC.child('nodeAllocatableUpdatePeriodSeconds'), period, 'must be greater than or equal to 10 seconds'))
  }
  if (spec.serviceAccountTokenInSecrets && !spec.tokenRequests?.length) {
    errors.push(invalid(SPEC.child('serviceAccountTokenInSecrets'), true, 'serviceAccountTokenInSecrets is set but no tokenRequests are specified'))
  }
  return errors
}

const driverWarnings = ({ spec }: CSIDriver): string[] =>
  spec.tokenRequests?.length && spec.serviceAccountTokenInSecrets === undefined
    ? ['spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes']
    : []

export const csiDriverKind: KindRegistration<CSIDriver> = {
  group: GROUP,
  resource: 'csidrivers',
  storage: { group: GROUP, version: 'v1', kind: 'CSIDriver' },
  strategy: {
    defaults({ spec }) {
      spec.attachRequired ??= true
      spec.podInfoOnMount ??= false
      spec.storageCapacity ??= false
      spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType'
      if (!spec.volumeLifecycleModes?.length) spec.volumeLifecycleModes = ['Persistent']
      spec.requiresRepublish ??= false
      spec.seLinuxMount ??= false
    },
    validate: validateDriver,
    warningsOnCreate: driverWarnings,
    validateUpdate(driver, old) {
      const errors = validateDriver(driver)
      if (driver.spec.attachRequired !== old.spec.attachRequired) {
        errors.push(invalid(SPEC.child('attachedRequired'), driver.spec.attachRequired, IMMUTABLE))
      }
      if (!deepEqual(driver.spec.volumeLifecycleModes, old.spec.volumeLifecycleModes)) {
        errors.push(invalid(SPEC.child('volumeLifecycleModes'), driver.spec.volumeLifecycleModes, IMMUTABLE))
      }
      return errors
    },
    warningsOnUpdate: (driver, old) => (driverWarnings(old).length ? [] : driverWarnings(driver)),
  },
  columns: {
    columns: columnList('Name/name|AttachRequired:boolean|PodInfoOnMount:boolean|StorageCapacity:boolean|TokenRequests|RequiresRepublish:boolean|Modes|Age'),
    cells: ({ metadata, spec }, now) => [
      metadata.name,
      spec.attachRequired ?? true,
      spec.podInfoOnMount ?? false,
      spec.storageCapacity ?? false,
      spec.tokenRequests ? spec.tokenRequests.map((r) => r.audience).join(',') : '<unset>',
      spec.requiresRepublish ?? false,
      spec.volumeLifecycleModes?.join(',') || '<none>',
      ageOf(metadata.creationTimestamp, now),
    ],
  },
}

function validateNodeDrivers(drivers: readonly storagev1.CSINodeDriver[] | undefined, old: readonly storagev1.CSINodeDriver[] = []): ErrorList {
  const path = SPEC.child('drivers')
  const errors: ErrorList = []
  const seen = new Set<string>()
  for (const [i, driver] of (drivers ?? []).entries()) {
    const at = path.index(i)
    errors.push(...validateCSIDriverName(driver.name, at.child('name')))
    if (!driver.nodeID) errors.push(required(at.child('nodeID')))
    else if (driver.nodeID.length > 256 && !old.some((o) => o.nodeID === driver.nodeID)) {
      errors.push(invalid(at.child('nodeID'), driver.nodeID, 'must be 256 characters or less'))
    }
    const count = driver.allocatable?.count
    if (count !== undefined && count < 0) errors.push(invalid(at.child('allocatable', 'count'), count, 'must be greater than or equal to 0'))
    const keys = new Set<string>()
    for (const key of driver.topologyKeys ?? []) {
      if (key === '') errors.push(required(at))
      if (keys.has(key)) errors.push(duplicate(at, key))
      keys.add(key)
      for (const m of isQualifiedName(key)) errors.push(invalid(at, key, m))
    }
    if (seen.has(driver.name)) errors.push(duplicate(at.child('name'), driver.name))
    seen.add(driver.name)
  }
  return errors
}

const internalDriver = (driver: storagev1.CSINodeDriver) => ({
  Name: driver.name,
  NodeID: driver.nodeID,
  TopologyKeys: driver.topologyKeys ?? null,
  Allocatable: driver.allocatable ? { Count: driver.allocatable.count ?? null } : null,
})

/** What a driver that stays may change is its count alone. */
const withoutCount = ({ allocatable: _, ...rest }: storagev1.CSINodeDriver) => ({ ...rest, topologyKeys: rest.topologyKeys ?? [] })

export const csiNodeKind: KindRegistration<CSINode> = {
  group: GROUP,
  resource: 'csinodes',
  storage: { group: GROUP, version: 'v1', kind: 'CSINode' },
  strategy: {
    validate: ({ spec }) => validateNodeDrivers(spec.drivers),
    validateUpdate({ spec }, old) {
      const errors = validateNodeDrivers(spec.drivers, old.spec.drivers ?? [])
      for (const driver of spec.drivers ?? []) {
        const before = old.spec.drivers?.find((d) => d.name === driver.name)
        if (before && !deepEqual(withoutCount(driver), withoutCount(before))) errors.push(invalid(SPEC.child('drivers'), internalDriver(driver), IMMUTABLE))
      }
      return errors
    },
    canonicalize({ spec }) {
      if (!spec.drivers?.length) spec.drivers = null as unknown as storagev1.CSINodeDriver[]
      for (const driver of spec.drivers ?? []) if (!driver.topologyKeys?.length) driver.topologyKeys = null as unknown as string[]
    },
  },
  columns: {
    columns: columnList('Name/name|Drivers:integer|Age'),
    cells: ({ metadata, spec }, now) => [metadata.name, spec.drivers?.length ?? 0, ageOf(metadata.creationTimestamp, now)],
  },
}

function validateCapacity(capacity: CSIStorageCapacity): ErrorList {
  const at = FieldPath.root
  const errors: ErrorList = isDNS1123Subdomain(capacity.storageClassName ?? '').map((m) => invalid(at('storageClassName'), capacity.storageClassName ?? '', m))
  errors.push(...validateLabelSelector(capacity.nodeTopology, at('nodeTopology')))
  for (const field of ['capacity', 'maximumVolumeSize'] as const) {
    const amount = capacity[field]
    if (field === 'capacity' && amount !== undefined && parseAmount(amount).nano < 0n) {
      errors.push(invalid(at(field), amount, 'must be greater than or equal to 0'))
    }
  }
  return errors
}

export const csiStorageCapacityKind: KindRegistration<CSIStorageCapacity> = {
  group: GROUP,
  resource: 'csistoragecapacities',
  storage: { group: GROUP, version: 'v1', kind: 'CSIStorageCapacity' },
  strategy: {
    validate: validateCapacity,
    validateUpdate(capacity, old) {
      const errors = validateCapacity(capacity)
      if (!deepEqual(capacity.nodeTopology, old.nodeTopology)) {
        errors.push(invalid(FieldPath.root('nodeTopology'), capacity.nodeTopology ?? null, IMMUTABLE))
      }
      if (capacity.storageClassName !== old.storageClassName) {
        errors.push(invalid(FieldPath.root('storageClassName'), capacity.storageClassName, IMMUTABLE))
      }
      return errors
    },
  },
}
