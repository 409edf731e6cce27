import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { volumeAttachmentKind } from './attachment.ts'
import { storageClassKind, volumeAttributesClassKind } from './class.ts'
import { csiDriverKind, csiNodeKind, csiStorageCapacityKind } from './csi.ts'

export const storageKinds: readonly KindRegistration[] = [
  storageClassKind,
  volumeAttributesClassKind,
  volumeAttachmentKind,
  csiDriverKind,
  csiNodeKind,
  csiStorageCapacityKind,
] as unknown as KindRegistration[]
