import type { coordinationv1, coordinationv1beta1 } from '../../api/index.ts'
import { namedColumns } from '../named-age.ts'

export const leaseColumns = namedColumns<coordinationv1.Lease>('Holder|Age', ({ spec }) => [spec?.holderIdentity ?? ''])

export const leaseCandidateColumns = namedColumns<coordinationv1beta1.LeaseCandidate>('LeaseName|BinaryVersion|EmulationVersion|Age', ({ spec }) => [
  spec?.leaseName ?? '',
  spec?.binaryVersion ?? '',
  spec?.emulationVersion ?? '',
])
