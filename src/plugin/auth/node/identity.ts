import type { UserInfo } from '../../../apiserver/authentication/authenticator.ts'

const PREFIX = 'system:node:'

/** Undefined: no node. `name` is '' for a member of the group whose name says nothing. */
export function nodeIdentity(user: UserInfo): { readonly name: string } | undefined {
  if (!user.name.startsWith(PREFIX) || !user.groups.includes('system:nodes')) return undefined
  return { name: user.name.slice(PREFIX.length) }
}
