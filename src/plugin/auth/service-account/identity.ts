import { isDNS1123Label, isDNS1123Subdomain } from '../../../apimachinery/validation/names.ts'
import type { UserInfo } from '../../../apiserver/authentication/authenticator.ts'

const PREFIX = 'system:serviceaccount:'

export const serviceAccountUsername = (namespace: string, name: string): string => `${PREFIX}${namespace}:${name}`

/** Namespace and name of a service account's user name. */
export function splitServiceAccountUsername(username: string): { namespace: string; name: string } | undefined {
  if (!username.startsWith(PREFIX)) return undefined
  const [namespace, name, ...rest] = username.slice(PREFIX.length).split(':')
  if (namespace === undefined || name === undefined || rest.length) return undefined
  return isDNS1123Label(namespace).length || isDNS1123Subdomain(name).length ? undefined : { namespace, name }
}

export function serviceAccountUser(namespace: string, name: string, uid: string | undefined, extra: Record<string, string[]> = {}): UserInfo {
  return {
    name: serviceAccountUsername(namespace, name),
    ...(uid ? { uid } : {}),
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
    ...(Object.keys(extra).length ? { extra } : {}),
  }
}
