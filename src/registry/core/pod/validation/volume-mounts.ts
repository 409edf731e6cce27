import type { Container, EphemeralContainer, Volume, VolumeDevice, VolumeMount } from '../../../../api/core/v1/types.generated.ts'
import { type ErrorList, type FieldPath, forbidden, invalid, notFoundField, notSupported, required } from '../../../../apimachinery/field.ts'
import { validateLocalDescendingPath, validatePathNoBacksteps } from './paths.ts'

/** The valid volumes of the Pod by name; mounts refer to them. */
export type Volumes = ReadonlyMap<string, Volume>

type AnyContainer = Pick<Container | EphemeralContainer, 'volumeMounts' | 'volumeDevices' | 'securityContext'>

function validatePropagation(mount: VolumeMount, container: AnyContainer, path: FieldPath): ErrorList {
  const mode = mount.mountPropagation
  if (mode === undefined) return []
  const errs: ErrorList =
    mode === 'Bidirectional' || mode === 'HostToContainer' || mode === 'None' ? [] : [notSupported(path, mode, ['Bidirectional', 'HostToContainer', 'None'])]
  if (mode === 'Bidirectional' && container.securityContext?.privileged !== true) {
    errs.push(forbidden(path, 'Bidirectional mount propagation is available only to privileged containers'))
  }
  return errs
}

function validateRecursiveReadOnly(mount: VolumeMount, path: FieldPath): ErrorList {
  const mode = mount.recursiveReadOnly
  if (mode === undefined || mode === 'Disabled') return []
  if (mode !== 'Enabled' && mode !== 'IfPossible') return [notSupported(path, mode, ['Disabled', 'Enabled', 'IfPossible'])]
  const errs: ErrorList = []
  if (!mount.readOnly) errs.push(forbidden(path, 'may only be specified when readOnly is true'))
  if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None') {
    errs.push(forbidden(path, 'may only be specified when mountPropagation is None or not specified'))
  }
  return errs
}

export function validateVolumeMounts(container: AnyContainer, volumes: Volumes, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const devices = container.volumeDevices ?? []
  const paths = new Set<string>()
  container.volumeMounts?.forEach((mount, i) => {
    const at = path.index(i)
    if (!mount.name) errs.push(required(at.child('name')))
    if (!volumes.has(mount.name)) errs.push(notFoundField(at.child('name'), mount.name))
    if (!mount.mountPath) errs.push(required(at.child('mountPath')))
    if (paths.has(mount.mountPath)) errs.push(invalid(at.child('mountPath'), mount.mountPath, 'must be unique'))
    paths.add(mount.mountPath)
    if (devices.some((d) => d.name === mount.name)) errs.push(invalid(at.child('name'), mount.name, 'must not already exist in volumeDevices'))
    if (devices.some((d) => d.devicePath === mount.mountPath)) {
      errs.push(invalid(at.child('mountPath'), mount.mountPath, 'must not already exist as a path in volumeDevices'))
    }
    if (mount.subPath) errs.push(...validateLocalDescendingPath(mount.subPath, path.child('subPath')))
    if (mount.subPathExpr) {
      if (mount.subPath) errs.push(invalid(path.child('subPathExpr'), mount.subPathExpr, 'subPathExpr and subPath are mutually exclusive'))
      errs.push(...validateLocalDescendingPath(mount.subPathExpr, path.child('subPathExpr')))
    }
    errs.push(...validatePropagation(mount, container, path.child('mountPropagation')))
    errs.push(...validateRecursiveReadOnly(mount, path.child('recursiveReadOnly')))
  })
  return errs
}

export function validateVolumeDevices(container: AnyContainer, volumes: Volumes, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const mounts = container.volumeMounts ?? []
  const names = new Set<string>()
  const paths = new Set<string>()
  container.volumeDevices?.forEach((device: VolumeDevice, i) => {
    const at = path.index(i)
    const volume = volumes.get(device.name)
    if (!device.name) errs.push(required(at.child('name')))
    if (names.has(device.name)) errs.push(invalid(at.child('name'), device.name, 'must be unique'))
    if (!volume) errs.push(notFoundField(at.child('name'), device.name))
    else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
      errs.push(invalid(at.child('name'), device.name, 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode'))
    }
    if (!device.devicePath) errs.push(required(at.child('devicePath')))
    if (paths.has(device.devicePath)) errs.push(invalid(at.child('devicePath'), device.devicePath, 'must be unique'))
    if (device.devicePath && validatePathNoBacksteps(device.devicePath, at.child('devicePath')).length > 0) {
      errs.push(invalid(at.child('devicePath'), device.devicePath, "can not contain backsteps ('..')"))
    } else paths.add(device.devicePath)
    if (mounts.some((m) => m.name === device.name)) errs.push(invalid(at.child('name'), device.name, 'must not already exist in volumeMounts'))
    if (mounts.some((m) => m.mountPath === device.devicePath)) {
      errs.push(invalid(at.child('devicePath'), device.devicePath, 'must not already exist as a path in volumeMounts'))
    }
    if (device.name) names.add(device.name)
  })
  return errs
}
