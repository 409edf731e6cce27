import { newBadRequest } from '../../apimachinery/errors.ts'
import type { UserInfo } from '../authentication/authenticator.ts'
import type { Attributes, Authorizer } from '../authorization/authorizer.ts'
import type { Handler, RequestContext } from '../request/context.ts'
import { authorize, forbidden } from './with-authorization.ts'

const EXTRA = 'impersonate-extra-'
const SERVICE_ACCOUNT = 'system:serviceaccount:'

/** Acts as the user named by Impersonate-* headers, when the caller may. */
export function withImpersonation(next: Handler, authorizers: readonly Authorizer[]): Handler {
  return async (context) => {
    const wanted = wantedUser(context)
    if (!wanted) return next(context)
    await checkImpersonation(context, wanted, authorizers)
    const groups = [...wanted.groups]
    let name = wanted.name
    if (name.startsWith(SERVICE_ACCOUNT) && groups.length === 0) {
      const namespace = name.slice(SERVICE_ACCOUNT.length).split(':')[0] as string
      groups.push('system:serviceaccounts', `system:serviceaccounts:${namespace}`)
    }
    if (name === 'system:anonymous') {
      if (!groups.includes('system:unauthenticated')) groups.push('system:unauthenticated')
    } else if (!groups.includes('system:authenticated') && !groups.includes('system:unauthenticated')) {
      groups.push('system:authenticated')
    }
    name = wanted.name
    const user: UserInfo = {
      name,
      groups,
      ...(wanted.uid ? { uid: wanted.uid } : {}),
      ...(wanted.extra.size ? { extra: Object.fromEntries(wanted.extra) } : {}),
    }
    context.impersonator = context.user
    context.user = user
    return next(context)
  }
}

interface Wanted {
  name: string
  uid: string
  groups: string[]
  extra: Map<string, string[]>
}

function listHeader(value: string | undefined): string[] {
  return value === undefined ? [] : value.split(', ').filter((v) => v !== '')
}

function wantedUser(context: RequestContext): Wanted | undefined {
  const headers = context.request.headers
  const name = headers['impersonate-user'] ?? ''
  const groups = listHeader(headers['impersonate-group'])
  const uid = headers['impersonate-uid'] ?? ''
  const extra = new Map<string, string[]>()
  for (const header in headers) {
    if (header.startsWith(EXTRA)) extra.set(decodeKey(header.slice(EXTRA.length)), listHeader(headers[header]))
  }
  if (name === '') {
    if (groups.length || uid !== '' || extra.size) {
      const what = groups.length
        ? `[{Group    ${groups[0]}  }]`
        : uid !== ''
          ? `[{UID    ${uid}  }]`
          : `[{UserExtra    ${[...extra.values()][0]?.[0] ?? ''}  }]`
      throw newBadRequest(`requested ${what} without impersonating a user`)
    }
    return undefined
  }
  return { name, uid, groups, extra }
}

function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

async function checkImpersonation(context: RequestContext, wanted: Wanted, authorizers: readonly Authorizer[]): Promise<void> {
  const ask = async (apiGroup: string, resource: string, name: string, namespace = '', subresource = '') => {
    const attributes: Attributes = {
      user: context.user,
      verb: 'impersonate',
      resourceRequest: true,
      namespace,
      apiGroup,
      apiVersion: apiGroup === '' ? 'v1' : 'v1',
      resource,
      subresource,
      name,
      path: '',
    }
    const decision = await authorize(authorizers, attributes)
    if (decision.decision !== 'allow') throw forbidden(attributes, decision.reason)
  }
  if (wanted.name.startsWith(SERVICE_ACCOUNT)) {
    const [namespace = '', name = ''] = wanted.name.slice(SERVICE_ACCOUNT.length).split(':')
    await ask('', 'serviceaccounts', name, namespace)
  } else {
    await ask('', 'users', wanted.name)
  }
  for (const group of wanted.groups) await ask('', 'groups', group)
  if (wanted.uid !== '') await ask('authentication.k8s.io', 'uids', wanted.uid)
  for (const [key, values] of wanted.extra) for (const value of values) await ask('authentication.k8s.io', 'userextras', value, '', key)
}
