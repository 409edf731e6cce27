import type { Secret } from '../../api/core/v1/types.generated.ts'
import { parseImageReference } from '../../component-helpers/image-reference.ts'
import type { AuthConfig } from '../runtime/runtime.ts'

interface Entry {
  host: string
  path: string
  auth: AuthConfig
}

/** Registry credentials out of pull secrets of both types, most specific path first. Malformed secrets count for nothing. */
export function credentialsFor(image: string, secrets: readonly Secret[]): AuthConfig[] {
  const ref = parseImageReference(image)
  if (!ref) return []
  const entries: Entry[] = []
  for (const secret of secrets) {
    const modern = secret.type === 'kubernetes.io/dockerconfigjson' ? secret.data?.['.dockerconfigjson'] : undefined
    const old = secret.type === 'kubernetes.io/dockercfg' ? secret.data?.['.dockercfg'] : undefined
    const text = modern ?? old
    if (text === undefined) continue
    try {
      const json = JSON.parse(Buffer.from(text, 'base64').toString('utf8')) as Record<string, unknown>
      const auths = (modern === undefined ? json : json['auths']) as Record<string, Record<string, string>> | undefined
      for (const [key, value] of Object.entries(auths ?? {})) entries.push(entryOf(key, value))
    } catch {
      // Not JSON: no credentials.
    }
  }
  return entries
    .filter((e) => hostMatches(e.host, ref.domain) && (e.path === '' || ref.path === e.path || ref.path.startsWith(`${e.path}/`)))
    .sort((a, b) => b.path.length - a.path.length)
    .map((e) => e.auth)
}

function entryOf(key: string, value: Record<string, string>): Entry {
  const bare = key.replace(/^https?:\/\//, '').replace(/\/+$/, '')
  const slash = bare.indexOf('/')
  let host = slash < 0 ? bare : bare.slice(0, slash)
  let path = slash < 0 ? '' : bare.slice(slash + 1)
  if (host === 'index.docker.io' || host === 'registry-1.docker.io') host = 'docker.io'
  if (path === 'v1' || path === 'v2') path = ''
  const auth: AuthConfig = { serverAddress: key }
  if (value['auth']) {
    const decoded = Buffer.from(value['auth'], 'base64').toString('utf8')
    const colon = decoded.indexOf(':')
    if (colon > 0) {
      auth.username = decoded.slice(0, colon)
      auth.password = decoded.slice(colon + 1)
    }
  }
  if (value['username']) auth.username = value['username']
  if (value['password']) auth.password = value['password']
  if (value['identitytoken']) auth.identityToken = value['identitytoken']
  if (value['registrytoken']) auth.registryToken = value['registrytoken']
  return { host, path, auth }
}

/** `*` stands for one or more characters within one label. */
function hostMatches(pattern: string, host: string): boolean {
  const a = pattern.split('.')
  const b = host.split('.')
  return (
    a.length === b.length &&
    a.every((part, i) => {
      const label = b[i] as string
      if (!part.includes('*')) return part === label
      const [head = '', ...rest] = part.split('*')
      const tail = rest.at(-1) ?? ''
      return label.length >= head.length + tail.length && label.startsWith(head) && label.endsWith(tail)
    })
  )
}
