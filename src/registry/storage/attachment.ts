import type { storagev1 } from '../../api/index.ts'
import { type ErrorList, FieldPath, forbidden, invalid, required, tooLong } from '../../apimachinery/field.ts'
import { byteLength, isDNS1123Subdomain, sortedKeys } from '../../apimachinery/validation/index.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { ageOf } from '../../component-helpers/age.ts'
import { columnList } from '../columns.ts'
import { validateVolumeSpec } from '../core/persistent-volume/validation.ts'
import { validateCSIDriverName } from '../core/pod/validation/backend-volumes.ts'

type VolumeAttachment = storagev1.VolumeAttachment

/** Bytes of attachment metadata, and of an error's message. */
const MAX_BYTES = 256 * 1024
const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')

function validateSource(source: storagev1.VolumeAttachmentSource | undefined, path: FieldPath): ErrorList {
  const { persistentVolumeName: name, inlineVolumeSpec: inline } = source ?? {}
  const text = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'
  if (name === undefined && !inline) return [required(path, text)]
  if (name !== undefined && inline) return [forbidden(path, text)]
  if (inline) return validateVolumeSpec(inline, path.child('inlineVolumeSpec'), true)
  const at = path.child('persistentVolumeName')
  const errors: ErrorList = name === '' ? [required(at, 'must specify non empty persistentVolumeName')] : []
  for (const m of isDNS1123Subdomain(name ?? '')) errors.push(invalid(at, name, m))
  return errors
}

const messageTooLong = (error: storagev1.VolumeError | undefined, path: FieldPath): ErrorList =>
  byteLength(error?.message ?? '') > MAX_BYTES ? [tooLong(path, MAX_BYTES)] : []

function validate({ spec, status }: VolumeAttachment): ErrorList {
  const errors = validateCSIDriverName(spec.attacher ?? '', SPEC.child('attacher'))
  errors.push(...validateSource(spec.source, SPEC.child('source')))
  for (const m of isDNS1123Subdomain(spec.nodeName ?? '')) errors.push(invalid(SPEC.child('nodeName'), spec.nodeName ?? '', m))
  const metadata = status.attachmentMetadata
  const size = sortedKeys(metadata).reduce((n, k) => n + byteLength(k) + byteLength(metadata?.[k] ?? ''), 0)
  if (size > MAX_BYTES) errors.push(tooLong(STATUS.child('attachmentMetadata'), MAX_BYTES))
  return [...errors, ...messageTooLong(status.attachError, STATUS.child('attachError')), ...messageTooLong(status.detachError, STATUS.child('detachError'))]
}

/** Go's field names, all present. */
const internalSpec = ({ attacher, source, nodeName }: storagev1.VolumeAttachmentSpec) => ({
  Attacher: attacher,
  Source: { PersistentVolumeName: source?.persistentVolumeName ?? null, InlineVolumeSpec: source?.inlineVolumeSpec ?? null },
  NodeName: nodeName,
})

function validateUpdate(attachment: VolumeAttachment, old: VolumeAttachment): ErrorList {
  const errors = validate(attachment)
  if (!deepEqual(attachment.spec, old.spec)) errors.push(invalid(SPEC, internalSpec(attachment.spec), 'field is immutable'))
  return errors
}

export const volumeAttachmentKind: KindRegistration<VolumeAttachment> = {
  group: 'storage.k8s.io',
  resource: 'volumeattachments',
  storage: { group: 'storage.k8s.io', version: 'v1', kind: 'VolumeAttachment' },
  strategy: {
    prepareForCreate(attachment) {
      attachment.status = { attached: false }
    },
    validate,
    prepareForUpdate(attachment, old) {
      attachment.status = deepCopy(old.status)
    },
    validateUpdate,
  },
  status: {
    prepareForUpdate(attachment, old) {
      const { managedFields } = attachment.metadata
      attachment.metadata = {
        ...deepCopy(old.metadata),
        ...(attachment.metadata.resourceVersion ? { resourceVersion: attachment.metadata.resourceVersion } : {}),
      }
      if (managedFields) attachment.metadata.managedFields = managedFields
      else delete attachment.metadata.managedFields
      attachment.spec = deepCopy(old.spec)
    },
    validateUpdate,
  },
  columns: {
    columns: columnList('Name/name|Attacher/name|PV|Node|Attached:boolean|Age'),
    cells: ({ metadata, spec, status }, now) => [
      metadata.name,
      spec.attacher,
      spec.source?.persistentVolumeName ?? '',
      spec.nodeName,
      status.attached,
      ageOf(metadata.creationTimestamp, now),
    ],
  },
}
