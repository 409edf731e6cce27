import type { AppArmorProfile, PodSecurityContext, PodSpec, SeccompProfile, SecurityContext } from '../../../../api/core/v1/types.generated.ts'
import { duplicate, type ErrorList, type FieldPath, forbidden, invalid, notSupported, required, tooLong } from '../../../../apimachinery/field.ts'
import { isIdNumber, longerThan } from '../../../../apimachinery/validation/index.ts'
import { internalForm } from '../../../internal-form.ts'
import type { PodValidationOptions } from './options.ts'
import { validateLocalDescendingPath } from './paths.ts'
import { validateWindowsOptions } from './windows.ts'

const PROFILES = ['Localhost', 'RuntimeDefault', 'Unconfined']
const SYSCTL = /^(?:[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/
const SYSCTL_TEXT = 'must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$'

function validateId(id: number | undefined, path: FieldPath): ErrorList {
  return id === undefined ? [] : isIdNumber(id).map((m) => invalid(path, id, m))
}

function validateSeccomp(profile: SeccompProfile | undefined, path: FieldPath): ErrorList {
  if (!profile) return []
  const errs: ErrorList = []
  if (!profile.type) errs.push(required(path.child('type'), 'type is required when seccompProfile is set'))
  else if (!PROFILES.includes(profile.type)) errs.push(notSupported(path.child('type'), profile.type, PROFILES))
  const at = path.child('localhostProfile')
  if (profile.type === 'Localhost') {
    if (profile.localhostProfile === undefined) errs.push(required(at, 'must be set when seccomp type is Localhost'))
    else errs.push(...validateLocalDescendingPath(profile.localhostProfile, at))
  } else if (profile.localhostProfile !== undefined)
    errs.push(invalid(at, internalForm('SeccompProfile', profile), 'can only be set when seccomp type is Localhost'))
  return errs
}

export function validateAppArmor(profile: AppArmorProfile | undefined, path: FieldPath): ErrorList {
  if (!profile) return []
  const at = path.child('localhostProfile')
  const local = profile.localhostProfile
  switch (profile.type as string) {
    case 'Localhost': {
      if (local === undefined || local.trim() === '') return [required(at, 'must be set when AppArmor type is Localhost')]
      const errs: ErrorList = local.trim() === local ? [] : [invalid(at, local, 'must not be padded with whitespace')]
      if (longerThan(local, 4095)) errs.push(tooLong(at, 4095))
      return errs
    }
    case 'RuntimeDefault':
    case 'Unconfined':
      return local === undefined ? [] : [invalid(at, local, 'can only be set when AppArmor type is Localhost')]
    case '':
      return [required(path.child('type'), 'type is required when appArmorProfile is set')]
    default:
      return [notSupported(path.child('type'), profile.type, PROFILES)]
  }
}

/** @param hostUsers the Pod uses the host's user namespace (unset counts as yes) */
export function validateSecurityContext(context: SecurityContext | undefined, hostUsers: boolean, path: FieldPath): ErrorList {
  if (!context) return []
  const errs = validateId(context.runAsUser, path.child('runAsUser'))
  errs.push(...validateId(context.runAsGroup, path.child('runAsGroup')))
  if (context.procMount !== undefined) {
    if (context.procMount !== 'Default' && context.procMount !== 'Unmasked')
      errs.push(notSupported(path.child('procMount'), context.procMount, ['Default', 'Unmasked']))
    if (hostUsers && context.procMount === 'Unmasked')
      errs.push(invalid(path.child('procMount'), context.procMount, '`hostUsers` must be false to use `Unmasked`'))
  }
  errs.push(...validateSeccomp(context.seccompProfile, path.child('seccompProfile')))
  if (context.allowPrivilegeEscalation === false) {
    const refuse = (what: string) =>
      errs.push(invalid(path, internalForm('SecurityContext', context), `cannot set \`allowPrivilegeEscalation\` to false and ${what}`))
    if (context.privileged) refuse('`privileged` to true')
    if (context.capabilities?.add?.includes('CAP_SYS_ADMIN')) refuse('`capabilities.Add` CAP_SYS_ADMIN')
  }
  errs.push(...validateWindowsOptions(context.windowsOptions, path.child('windowsOptions')))
  errs.push(...validateAppArmor(context.appArmorProfile, path.child('appArmorProfile')))
  return errs
}

/** Sysctls that belong to a namespace which the Pod shares with the host. */
function sharedNamespace(name: string, spec: PodSpec): string | undefined {
  const dotted = name.replaceAll('/', '.')
  if (spec.hostIPC && (/^kernel\.(?:shm|msg)/.test(dotted) || dotted === 'kernel.sem' || dotted.startsWith('fs.mqueue.'))) return 'hostIPC'
  if (spec.hostNetwork && dotted.startsWith('net.')) return 'hostNetwork'
  return undefined
}

function validateSysctls(context: PodSecurityContext, spec: PodSpec, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const names = new Set<string>()
  context.sysctls?.forEach(({ name }, i) => {
    const at = path.index(i).child('name')
    const shared = name ? sharedNamespace(name, spec) : undefined
    if (!name) errs.push(required(at))
    else if (longerThan(name, 253) || !SYSCTL.test(name)) errs.push(invalid(at, name, SYSCTL_TEXT))
    else if (names.has(name)) errs.push(duplicate(at, name))
    if (shared) errs.push(invalid(at, name, `may not be specified when '${shared}' is true`))
    names.add(name)
  })
  return errs
}

export function validatePodSecurityContext(spec: PodSpec, path: FieldPath, options: PodValidationOptions): ErrorList {
  const context = spec.securityContext
  if (!context) return []
  const errs = validateId(context.fsGroup, path.child('fsGroup'))
  errs.push(...validateId(context.runAsUser, path.child('runAsUser')), ...validateId(context.runAsGroup, path.child('runAsGroup')))
  context.supplementalGroups?.forEach((id, i) => {
    errs.push(...validateId(id, path.child('supplementalGroups').index(i)))
  })
  if (spec.shareProcessNamespace && spec.hostPID) {
    errs.push(invalid(path.child('shareProcessNamespace'), true, 'ShareProcessNamespace and HostPID cannot both be enabled'))
  }
  errs.push(...validateSysctls(context, spec, path.child('sysctls')))
  const oneOf = (name: 'fsGroupChangePolicy' | 'supplementalGroupsPolicy' | 'seLinuxChangePolicy', supported: string[]) => {
    const value = context[name]
    if (value !== undefined && !supported.includes(value)) errs.push(notSupported(path.child(name), value, supported))
  }
  oneOf('fsGroupChangePolicy', ['Always', 'OnRootMismatch'])
  errs.push(...validateSeccomp(context.seccompProfile, path.child('seccompProfile')))
  errs.push(...validateWindowsOptions(context.windowsOptions, path.child('windowsOptions')))
  errs.push(...validateAppArmor(context.appArmorProfile, path.child('appArmorProfile')))
  oneOf('supplementalGroupsPolicy', ['Merge', 'Strict'])
  oneOf('seLinuxChangePolicy', options.isFeatureEnabled('SELinuxMount') ? ['MountOption', 'Recursive'] : ['Recursive'])
  return errs
}

/** With a user namespace of its own (KEP-127) a Pod shares nothing else with the host. */
export function validateHostUsers(spec: PodSpec, path: FieldPath, options: PodValidationOptions): ErrorList {
  if (spec.hostUsers !== false) return []
  const errs: ErrorList = []
  const refuse = (at: FieldPath) => errs.push(forbidden(at, 'when `hostUsers` is false'))
  spec.containers.forEach((container, i) => {
    if (container.volumeDevices?.length) refuse(path.child('containers').index(i).child('volumeDevices'))
  })
  if (spec.hostNetwork && !options.isFeatureEnabled('UserNamespacesHostNetworkSupport')) refuse(path.child('hostNetwork'))
  if (spec.hostPID) refuse(path.child('HostPID'))
  if (spec.hostIPC) refuse(path.child('HostIPC'))
  return errs
}
