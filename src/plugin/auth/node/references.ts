import type { corev1 } from '../../../api/index.ts'
import { isMirrorPod } from '../../../component-helpers/pod-conditions.ts'

/** Objects of its own namespace that a Pod needs. */
export interface PodReferences {
  readonly secrets: ReadonlySet<string>
  readonly configMaps: ReadonlySet<string>
  readonly claims: ReadonlySet<string>
  readonly resourceClaims: ReadonlySet<string>
  readonly serviceAccount: string
}

const NOTHING: PodReferences = { secrets: new Set(), configMaps: new Set(), claims: new Set(), resourceClaims: new Set(), serviceAccount: '' }

/** What a node may read because this Pod runs on it. A mirror Pod gives nothing: its node made it. */
export function podReferences(pod: corev1.Pod): PodReferences {
  if (isMirrorPod(pod)) return NOTHING
  const secrets = new Set<string>()
  const configMaps = new Set<string>()
  const claims = new Set<string>()
  const { spec, status } = pod
  const add = (set: Set<string>, name: string | undefined) => {
    if (name) set.add(name)
  }
  for (const { name } of spec.imagePullSecrets ?? []) add(secrets, name)
  for (const container of [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])]) {
    for (const { valueFrom } of container.env ?? []) {
      add(secrets, valueFrom?.secretKeyRef?.name)
      add(configMaps, valueFrom?.configMapKeyRef?.name)
    }
    for (const { secretRef, configMapRef } of container.envFrom ?? []) {
      add(secrets, secretRef?.name)
      add(configMaps, configMapRef?.name)
    }
  }
  for (const volume of spec.volumes ?? []) {
    add(configMaps, volume.configMap?.name)
    add(claims, volume.persistentVolumeClaim?.claimName)
    // Claims of ephemeral volumes are named after Pod and volume.
    if (volume.ephemeral) add(claims, `${pod.metadata.name}-${volume.name}`)
    add(secrets, volume.secret?.secretName)
    add(secrets, volume.azureFile?.secretName)
    const refs = [volume.cephfs, volume.flexVolume, volume.iscsi, volume.rbd, volume.scaleIO, volume.storageos]
    for (const source of refs) add(secrets, source?.secretRef?.name)
    add(secrets, volume.csi?.nodePublishSecretRef?.name)
    for (const { secret, configMap } of volume.projected?.sources ?? []) {
      add(secrets, secret?.name)
      add(configMaps, configMap?.name)
    }
  }
  const resourceClaims = new Set<string>()
  for (const { resourceClaimName } of spec.resourceClaims ?? []) add(resourceClaims, resourceClaimName)
  for (const { resourceClaimName } of status?.resourceClaimStatuses ?? []) add(resourceClaims, resourceClaimName)
  add(resourceClaims, status?.extendedResourceClaimStatus?.resourceClaimName)
  return { secrets, configMaps, claims, resourceClaims, serviceAccount: spec.serviceAccountName ?? '' }
}

/** `namespace/name` of the secrets a volume is mounted with. */
export function volumeSecrets(volume: corev1.PersistentVolume): Set<string> {
  const found = new Set<string>()
  const { spec } = volume
  const home = spec.claimRef?.namespace ?? ''
  const add = (ref: { name?: string; namespace?: string } | undefined) => {
    if (ref?.name) found.add(`${ref.namespace || home}/${ref.name}`)
  }
  if (spec.azureFile?.secretName) add({ name: spec.azureFile.secretName, namespace: spec.azureFile.secretNamespace ?? '' })
  for (const source of [spec.cephfs, spec.flexVolume, spec.iscsi, spec.rbd, spec.scaleIO, spec.storageos]) add(source?.secretRef)
  add(spec.csi?.controllerPublishSecretRef)
  add(spec.csi?.nodePublishSecretRef)
  add(spec.csi?.nodeStageSecretRef)
  add(spec.csi?.nodeExpandSecretRef)
  return found
}
