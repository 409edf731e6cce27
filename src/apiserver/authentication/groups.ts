import type { UserInfo } from './authenticator.ts'

export const AUTHENTICATED = 'system:authenticated'
export const UNAUTHENTICATED = 'system:unauthenticated'
export const ANONYMOUS_USER = 'system:anonymous'
/** Members pass authorization altogether. */
export const MASTERS_GROUP = 'system:masters'

/** The user with the group of those who are known, unless one of the two groups is there already. */
export function asAuthenticated(user: UserInfo): UserInfo {
  if (user.groups.includes(AUTHENTICATED) || user.groups.includes(UNAUTHENTICATED)) return user
  let known = withGroup.get(user)
  if (!known) {
    known = { ...user, groups: [...user.groups, AUTHENTICATED] }
    withGroup.set(user, known)
  }
  return known
}

/** One result per user: what others remember of a user, they remember by the object. */
const withGroup = new WeakMap<UserInfo, UserInfo>()
