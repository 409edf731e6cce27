import { newBadRequest, newForbidden, type StatusError } from '../../apimachinery/errors.ts'
import { quote } from '../../apimachinery/quote.ts'
import { BoundedMap } from '../../base/bounded-map.ts'
import type { Attributes, Decision } from '../authorization/authorizer.ts'
import { forbiddenError } from '../authorization/refusal.ts'
import type { UserInfo } from './authenticator.ts'
import { ANONYMOUS_USER, AUTHENTICATED, MASTERS_GROUP, UNAUTHENTICATED } from './groups.ts'
import { headerValues, unescapeExtraKey } from './headers.ts'

const EXTRA_PREFIX = 'impersonate-extra-'
const SERVICE_ACCOUNT = 'system:serviceaccount:'
const NODE = 'system:node:'
const NODE_NAME_EXTRA = 'authentication.kubernetes.io/node-name'
const AUTHENTICATION_GROUP = 'authentication.k8s.io'

export type Ask = (attributes: Attributes) => Decision | Promise<Decision>

export interface Impersonation {
  readonly user: UserInfo
  /** How it was allowed, for the audit event: a mode of constrained impersonation; undefined for the classic right. */
  readonly constraint?: string
}

interface Wanted {
  readonly name: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: ReadonlyMap<string, readonly string[]>
}

/** Users whose last way of impersonating is remembered. */
const REMEMBERED = 1024

export interface Impersonator {
  /**
   * Who a request wants to act as, when it may.
   * @param request what the request itself does, with the requester as its user
   * @returns undefined when the request impersonates nobody
   * @throws StatusError 400 or 403
   */
  impersonate(headers: Readonly<Record<string, string | undefined>>, request: Attributes): Promise<Impersonation | undefined>
}

/**
 * Constrained modes are tried first (KEP-5284): a verb `impersonate-on:<mode>:<verb>` on the target of the request, then
 * `impersonate:<mode>` on the identity; then the classic verb `impersonate`. The way that worked last for a requester is tried before all
 * others, so its error is the one that is shown when none works.
 */
export function createImpersonator(ask: Ask): Impersonator {
  const lastWay = new BoundedMap<string, Way>(REMEMBERED)
  return {
    async impersonate(headers, request) {
      const wanted = wantedUser(headers)
      if (!wanted) return undefined
      const key = JSON.stringify([request.user.name, request.user.uid, request.user.groups, request.user.extra])
      const ways: Way[] = [...modesFor(wanted, request.user), 'classic']
      const last = lastWay.get(key)
      if (last !== undefined && ways.includes(last)) ways.unshift(...ways.splice(ways.indexOf(last), 1))
      let first: StatusError | undefined
      for (const way of ways) {
        const error = way === 'classic' ? await tryClassic(wanted, request.user, ask) : await tryMode(way, wanted, request, ask)
        if (!error) {
          if (way !== last) lastWay.set(key, way)
          return { user: becoming(wanted), ...(way === 'classic' ? {} : { constraint: `impersonate:${way}` }) }
        }
        first ??= error
      }
      throw first
    },
  }
}

function wantedUser(headers: Readonly<Record<string, string | undefined>>): Wanted | undefined {
  const name = headers['impersonate-user'] ?? ''
  const uid = headers['impersonate-uid'] ?? ''
  const groups = headerValues(headers['impersonate-group'])
  const extra = new Map<string, string[]>()
  for (const header of Object.keys(headers).sort()) {
    if (header.startsWith(EXTRA_PREFIX)) extra.set(unescapeExtraKey(header.slice(EXTRA_PREFIX.length)), headerValues(headers[header]))
  }
  if (name !== '') return { name, uid, groups, extra }
  if (uid === '' && groups.length === 0 && extra.size === 0) return undefined
  throw newBadRequest(`requested ${goText({ name, uid, groups, extra })} without impersonating a user name`)
}

/** Go's print of the wanted user, which clients are shown. */
function goText({ name, uid, groups, extra }: Wanted): string {
  const strings = (list: readonly string[]) => `[]string{${list.map(quote).join(', ')}}`
  const groupText = groups.length ? strings(groups) : '[]string(nil)'
  const extraText = extra.size
    ? `map[string][]string{${[...extra.keys()]
        .sort()
        .map((k) => `${quote(k)}:${strings(extra.get(k) as string[])}`)
        .join(', ')}}`
    : 'map[string][]string(nil)'
  return `&user.DefaultInfo{Name:${quote(name)}, UID:${quote(uid)}, Groups:${groupText}, Extra:${extraText}}`
}

type Mode = 'associated-node' | 'arbitrary-node' | 'serviceaccount' | 'user-info'
type Way = Mode | 'classic'

function modesFor(wanted: Wanted, requester: UserInfo): Mode[] {
  const nameAlone = wanted.uid === '' && wanted.groups.length === 0 && wanted.extra.size === 0
  if (wanted.name.startsWith(NODE)) {
    if (!nameAlone) return []
    const own = requester.name.startsWith(SERVICE_ACCOUNT) && requester.extra?.[NODE_NAME_EXTRA]?.join() === wanted.name.slice(NODE.length)
    return own ? ['associated-node', 'arbitrary-node'] : ['arbitrary-node']
  }
  if (serviceAccountOf(wanted.name)) return nameAlone ? ['serviceaccount'] : []
  return ['user-info']
}

function serviceAccountOf(name: string): { namespace: string; name: string } | undefined {
  if (!name.startsWith(SERVICE_ACCOUNT)) return undefined
  const parts = name.slice(SERVICE_ACCOUNT.length).split(':')
  return parts.length === 2 && parts[0] && parts[1] ? { namespace: parts[0], name: parts[1] } : undefined
}

async function tryMode(mode: Mode, wanted: Wanted, request: Attributes, ask: Ask): Promise<StatusError | undefined> {
  const on: Attributes = { ...request, verb: `impersonate-on:${mode}:${request.verb}` }
  const refusal = await refusedBy(on, ask)
  if (refusal) return refusal
  const check = (resource: string, name: string, namespace = '', subresource = '') =>
    refusedBy(identityAttributes(request.user, `impersonate:${mode}`, AUTHENTICATION_GROUP, resource, name, namespace, subresource), ask)
  if (mode === 'associated-node') return check('nodes', '*')
  if (mode === 'arbitrary-node') return check('nodes', wanted.name.slice(NODE.length))
  if (mode === 'serviceaccount') {
    const account = serviceAccountOf(wanted.name) as { namespace: string; name: string }
    return check('serviceaccounts', account.name, account.namespace)
  }
  const all = async (resource: string, values: readonly string[], subresource = ''): Promise<StatusError | undefined> => {
    // Many values: one question for all of them may spare the rest.
    if (values.length > 3 && !(await check(resource, '*', '', subresource))) return undefined
    for (const value of values) {
      const error = await check(resource, value, '', subresource)
      if (error) return error
    }
    return undefined
  }
  for (const group of wanted.groups) {
    if (group === '') return newForbidden({ group: '', resource: '' }, '', 'impersonating the empty string group is not allowed')
    if (group === MASTERS_GROUP) return newForbidden({ group: '', resource: '' }, '', 'impersonating the system:masters group is not allowed')
  }
  let error = (await check('users', wanted.name)) ?? (await all('groups', wanted.groups))
  if (!error && wanted.uid !== '') error = await check('uids', wanted.uid)
  for (const [key, values] of wanted.extra) error ??= await all('userextras', values, key)
  return error
}

async function tryClassic(wanted: Wanted, user: UserInfo, ask: Ask): Promise<StatusError | undefined> {
  const account = serviceAccountOf(wanted.name)
  const questions: Attributes[] = [
    account
      ? identityAttributes(user, 'impersonate', '', 'serviceaccounts', account.name, account.namespace)
      : identityAttributes(user, 'impersonate', '', 'users', wanted.name),
    ...wanted.groups.map((group) => identityAttributes(user, 'impersonate', '', 'groups', group)),
  ]
  for (const [key, values] of wanted.extra) {
    for (const value of values) questions.push(identityAttributes(user, 'impersonate', AUTHENTICATION_GROUP, 'userextras', value, '', key))
  }
  if (wanted.uid !== '') questions.push(identityAttributes(user, 'impersonate', AUTHENTICATION_GROUP, 'uids', wanted.uid))
  for (const question of questions) {
    const error = await refusedBy(question, ask)
    if (error) return error
  }
  return undefined
}

async function refusedBy(attributes: Attributes, ask: Ask): Promise<StatusError | undefined> {
  const { decision, reason } = await ask(attributes)
  return decision === 'allow' ? undefined : forbiddenError(attributes, reason)
}

const identityAttributes = (user: UserInfo, verb: string, apiGroup: string, resource: string, name: string, namespace = '', subresource = ''): Attributes => ({
  user,
  verb,
  resourceRequest: true,
  namespace,
  apiGroup,
  apiVersion: 'v1',
  resource,
  subresource,
  name,
  path: '',
})

/** The identity with the groups it always has. */
function becoming(wanted: Wanted): UserInfo {
  const groups = [...wanted.groups]
  const account = serviceAccountOf(wanted.name)
  if (groups.length === 0 && account) groups.push('system:serviceaccounts', `system:serviceaccounts:${account.namespace}`)
  else if (groups.length === 0 && wanted.name.startsWith(NODE)) groups.push('system:nodes')
  if (wanted.name === ANONYMOUS_USER) {
    if (!groups.includes(UNAUTHENTICATED)) groups.push(UNAUTHENTICATED)
  } else if (!groups.includes(AUTHENTICATED) && !groups.includes(UNAUTHENTICATED)) {
    groups.push(AUTHENTICATED)
  }
  return {
    name: wanted.name,
    groups,
    ...(wanted.uid === '' ? {} : { uid: wanted.uid }),
    ...(wanted.extra.size ? { extra: Object.fromEntries(wanted.extra) } : {}),
  }
}
