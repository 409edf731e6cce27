import type { PodSpec, SecurityContext, WindowsSecurityContextOptions } from '../../../../api/core/v1/types.generated.ts'
import { type ErrorList, type FieldPath, forbidden, invalid, notSupported, required } from '../../../../apimachinery/field.ts'
import { isDNS1123Subdomain, longerThan } from '../../../../apimachinery/validation/index.ts'

const MAX_CREDENTIAL_SPEC = 64 * 1024
const NETBIOS_FORBIDDEN = /[\\/:*?"<>|]/
const USER_FORBIDDEN = /["/\\:;|=,+*?<>@[\]]/
const DNS_DOMAIN = /^[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?)*$/

function validateRunAsUserName(name: string, path: FieldPath): ErrorList {
  if (name === '') return [invalid(path, name, 'runAsUserName cannot be an empty string')]
  const errs: ErrorList = []
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name)) errs.push(invalid(path, name, 'runAsUserName cannot contain control characters'))
  const parts = name.split('\\')
  if (parts.length > 2) return [...errs, invalid(path, name, 'runAsUserName cannot contain more than one backslash')]
  const [domain, user] = parts.length === 2 ? (parts as [string, string]) : ['', name]
  if (parts.length === 2) {
    if (domain === '') errs.push(invalid(path, name, `runAsUserName's Domain doesn't match the NetBIOS nor the DNS format`))
    else if (domain.length > 255) errs.push(invalid(path, name, "runAsUserName's Domain length must be under 256 characters"))
    if (domain !== '' && (domain.length > 15 || NETBIOS_FORBIDDEN.test(domain) || domain.startsWith('.')) && !DNS_DOMAIN.test(domain)) {
      errs.push(invalid(path, name, "runAsUserName's Domain doesn't match the NetBIOS nor the DNS format"))
    }
  }
  if (user === '') errs.push(invalid(path, name, "runAsUserName's User cannot be empty"))
  else if (user.length > 104) errs.push(invalid(path, name, "runAsUserName's User length must not be longer than 104 characters"))
  if (/^[. ]+$/.test(user)) errs.push(invalid(path, name, "runAsUserName's User cannot contain only periods or spaces"))
  if (USER_FORBIDDEN.test(user)) errs.push(invalid(path, name, `runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`))
  return errs
}

export function validateWindowsOptions(options: WindowsSecurityContextOptions | undefined, path: FieldPath): ErrorList {
  if (!options) return []
  const errs: ErrorList = []
  const { gmsaCredentialSpecName: name, gmsaCredentialSpec: spec, runAsUserName } = options
  if (name !== undefined) for (const m of isDNS1123Subdomain(name)) errs.push(invalid(path.child('gmsaCredentialSpecName'), name, m))
  if (spec !== undefined) {
    if (spec === '') errs.push(invalid(path.child('gmsaCredentialSpec'), spec, 'gmsaCredentialSpec cannot be an empty string'))
    else if (longerThan(spec, MAX_CREDENTIAL_SPEC)) errs.push(invalid(path.child('gmsaCredentialSpec'), spec, 'gmsaCredentialSpec size must be under 64 KiB'))
  }
  if (runAsUserName !== undefined) errs.push(...validateRunAsUserName(runAsUserName, path.child('runAsUserName')))
  return errs
}

const isHostProcess = (pod: boolean | undefined, own: boolean | undefined): boolean => own ?? pod ?? false

/** Host process containers (KEP-1981) need the host's network, and a Pod has only such or none. */
export function validateHostProcessPod(spec: PodSpec, path: FieldPath): ErrorList {
  const pod = spec.securityContext?.windowsOptions?.hostProcess
  const kinds = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])].map((c) =>
    isHostProcess(pod, c.securityContext?.windowsOptions?.hostProcess),
  )
  const errs: ErrorList = []
  const some = kinds.includes(true)
  if (some && kinds.includes(false))
    errs.push(invalid(path, '', 'If pod contains any hostProcess containers then all containers must be HostProcess containers'))
  if (some && !spec.hostNetwork)
    errs.push(invalid(path.child('hostNetwork'), spec.hostNetwork ?? false, 'hostNetwork must be true if pod contains any hostProcess containers'))
  const conflict = (own: boolean | undefined, at: FieldPath) => {
    if (pod !== undefined && own !== undefined && pod !== own)
      errs.push(
        invalid(at.child('securityContext', 'windowsOptions', 'hostProcess'), own, `pod hostProcess value must be identical if both are specified, was ${pod}`),
      )
  }
  spec.containers.forEach((c, i) => {
    conflict(c.securityContext?.windowsOptions?.hostProcess, path.child('containers').index(i))
  })
  return errs
}

const POD_LINUX_ONLY = [
  'appArmorProfile',
  'seLinuxOptions',
  'fsGroup',
  'fsGroupChangePolicy',
  'seccompProfile',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
] as const
const CONTAINER_LINUX_ONLY = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const
const WINDOWS_TEXT = 'cannot be set for a windows pod'

function eachContainer(spec: PodSpec, path: FieldPath, visit: (context: SecurityContext | undefined, at: FieldPath) => void): void {
  spec.containers.forEach((c, i) => {
    visit(c.securityContext, path.child('containers').index(i))
  })
  spec.initContainers?.forEach((c, i) => {
    visit(c.securityContext, path.child('initContainers').index(i))
  })
  spec.ephemeralContainers?.forEach((c, i) => {
    visit(c.securityContext, path.child('ephemeralContainers').index(i))
  })
}

function validateWindowsPod(spec: PodSpec, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const context = spec.securityContext
  const at = path.child('securityContext')
  for (const name of POD_LINUX_ONLY) if (context?.[name] !== undefined) errs.push(forbidden(at.child(name), WINDOWS_TEXT))
  if (spec.hostPID) errs.push(forbidden(path.child('hostPID'), WINDOWS_TEXT))
  if (spec.hostIPC) errs.push(forbidden(path.child('hostIPC'), WINDOWS_TEXT))
  if (spec.hostUsers !== undefined) errs.push(forbidden(path.child('hostUsers'), WINDOWS_TEXT))
  if (spec.shareProcessNamespace !== undefined) errs.push(forbidden(path.child('shareProcessNamespace'), WINDOWS_TEXT))
  eachContainer(spec, path, (own, containerPath) => {
    for (const name of CONTAINER_LINUX_ONLY) if (own?.[name] !== undefined) errs.push(forbidden(containerPath.child('securityContext', name), WINDOWS_TEXT))
  })
  return errs
}

function validateLinuxPod(spec: PodSpec, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const refuse = (at: FieldPath) => errs.push(forbidden(at.child('securityContext', 'windowsOptions'), 'windows options cannot be set for a linux pod'))
  if (spec.securityContext?.windowsOptions) refuse(path)
  eachContainer(spec, path, (own, at) => {
    if (own?.windowsOptions) refuse(at)
  })
  return errs
}

/** spec.os names the system the Pod is for; fields of the other one are refused. */
export function validateOS(spec: PodSpec, path: FieldPath): ErrorList {
  if (!spec.os) return []
  if (!spec.os.name) return [required(path.child('os', 'name'))]
  if (spec.os.name === 'linux') return validateLinuxPod(spec, path)
  if (spec.os.name === 'windows') return validateWindowsPod(spec, path)
  return [notSupported(path.child('os'), spec.os.name, ['linux', 'windows'])]
}
