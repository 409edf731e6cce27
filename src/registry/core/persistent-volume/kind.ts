import type { PersistentVolume, Volume } from '../../../api/core/v1/types.generated.ts'
import { formatTime } from '../../../apimachinery/time.ts'
import type { KindRegistration } from '../../../apiserver/registry/strategy.ts'
import { deepCopy } from '../../../base/index.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { columnList } from '../../columns.ts'
import { setResourceListDefaults } from '../pod/resource-defaults.ts'
import { setVolumeDefaults } from '../pod/volume-defaults.ts'
import { DEPRECATED_VOLUMES } from '../pod/warnings.ts'
import { sourceOf, validateVolume, validateVolumeUpdate } from './validation.ts'

const SHORT_MODES: Readonly<Record<string, string>> = { ReadWriteOnce: 'RWO', ReadOnlyMany: 'ROX', ReadWriteMany: 'RWX', ReadWriteOncePod: 'RWOP' }
const STORAGE_CLASS = 'volume.beta.kubernetes.io/storage-class'
const MOUNT_OPTIONS = 'volume.beta.kubernetes.io/mount-options'

/** Access modes as tables print them, always in the same order. */
export function accessModesText(modes: readonly string[] | undefined): string {
  return Object.keys(SHORT_MODES)
    .filter((mode) => modes?.includes(mode))
    .map((mode) => SHORT_MODES[mode])
    .join(',')
}

/** The class of a volume or claim; the annotation came before the field and wins. */
export const storageClassOf = (object: { metadata: { annotations?: Record<string, string> }; spec: { storageClassName?: string } }): string =>
  object.metadata.annotations?.[STORAGE_CLASS] ?? object.spec.storageClassName ?? ''

function defaults({ spec }: PersistentVolume): void {
  spec.persistentVolumeReclaimPolicy ??= 'Retain'
  spec.volumeMode ??= 'Filesystem'
  setResourceListDefaults(spec.capacity)
  if (Object.keys(sourceOf(spec)).length > 0) setVolumeDefaults(spec as unknown as Volume)
}

function warnings({ metadata, spec }: PersistentVolume): string[] {
  const out: string[] = []
  if (metadata.annotations?.[STORAGE_CLASS] !== undefined)
    out.push(`metadata.annotations[${STORAGE_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead`)
  if (metadata.annotations?.[MOUNT_OPTIONS] !== undefined)
    out.push(`metadata.annotations[${MOUNT_OPTIONS}]: deprecated since v1.31; use "mountOptions" attribute instead`)
  if (spec.persistentVolumeReclaimPolicy === 'Recycle')
    out.push('spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.')
  for (const [field, shown, text] of DEPRECATED_VOLUMES) {
    if ((spec as Record<string, unknown>)[field] !== undefined) out.push(`spec.${shown}: ${text}`)
  }
  return out
}

export const persistentVolumeKind: KindRegistration<PersistentVolume> = {
  group: '',
  resource: 'persistentvolumes',
  storage: { group: '', version: 'v1', kind: 'PersistentVolume' },
  strategy: {
    defaults,
    prepareForCreate(volume, context) {
      volume.status = { phase: 'Pending', lastPhaseTransitionTime: formatTime(context.now()) }
    },
    validate: validateVolume,
    warningsOnCreate: warnings,
    prepareForUpdate(volume, old) {
      volume.status = deepCopy(old.status)
    },
    validateUpdate: validateVolumeUpdate,
    warningsOnUpdate: warnings,
  },
  status: {
    prepareForUpdate(volume, old, context) {
      volume.spec = deepCopy(old.spec)
      const asked = volume.status.lastPhaseTransitionTime
      if (volume.status.phase !== old.status.phase && (!asked || asked === old.status.lastPhaseTransitionTime)) {
        volume.status.lastPhaseTransitionTime = formatTime(context.now())
      }
    },
  },
  columns: {
    columns: columnList('Name/name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age|VolumeMode*'),
    cells: (volume, now) => {
      const { metadata, spec, status } = volume
      return [
        metadata.name,
        spec.capacity?.['storage'] ?? '0',
        accessModesText(spec.accessModes),
        spec.persistentVolumeReclaimPolicy ?? '',
        metadata.deletionTimestamp ? 'Terminating' : (status.phase ?? ''),
        spec.claimRef ? `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}` : '',
        storageClassOf(volume),
        spec.volumeAttributesClassName || '<unset>',
        status.reason ?? '',
        ageOf(metadata.creationTimestamp, now),
        spec.volumeMode ?? '<unset>',
      ]
    },
  },
}
