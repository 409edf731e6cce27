/** Image names as container tools read them: `[host[:port]/]path[:tag][@digest]`. */
export interface ImageReference {
  /** `docker.io` when the name has none. */
  domain: string
  /** `library/nginx` for `nginx`. */
  path: string
  /** `latest` when the name has neither tag nor digest; '' with a digest alone. */
  tag: string
  digest: string
}

const PATH_PART = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/
const TAG = /^\w[\w.-]{0,127}$/
const DIGEST = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}$/
const DOMAIN = /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])(?::\d+)?$/
const MAX_NAME = 255
/** No reference is longer; what is, is not looked at. */
const MAX_REFERENCE = 1024

/** Undefined for what is no valid reference: an upper-case repository, a bare id of 64 digits, bad characters. */
export function parseImageReference(name: string): ImageReference | undefined {
  if (name === '' || name.length > MAX_REFERENCE || /^[a-f0-9]{64}$/.test(name)) return undefined
  let rest = name
  let digest = ''
  const at = rest.indexOf('@')
  if (at >= 0) {
    digest = rest.slice(at + 1)
    rest = rest.slice(0, at)
    if (!DIGEST.test(digest)) return undefined
  }
  let tag = ''
  const colon = rest.lastIndexOf(':')
  if (colon > rest.lastIndexOf('/')) {
    tag = rest.slice(colon + 1)
    rest = rest.slice(0, colon)
    if (!TAG.test(tag)) return undefined
  }
  if (rest.length > MAX_NAME) return undefined
  let domain = 'docker.io'
  const slash = rest.indexOf('/')
  if (slash > 0) {
    const head = rest.slice(0, slash)
    if (head === 'localhost' || /[.:]/.test(head) || head !== head.toLowerCase()) {
      if (!DOMAIN.test(head)) return undefined
      domain = head
      rest = rest.slice(slash + 1)
    }
  }
  if (!rest.split('/').every((part) => PATH_PART.test(part))) return undefined
  if (domain === 'index.docker.io') domain = 'docker.io'
  if (domain === 'docker.io' && !rest.includes('/')) rest = `library/${rest}`
  return { domain, path: rest, tag: tag || (digest ? '' : 'latest'), digest }
}

/** `docker.io/library/nginx:latest`. */
export function canonicalImageName(ref: ImageReference): string {
  return `${ref.domain}/${ref.path}${ref.tag ? `:${ref.tag}` : ''}${ref.digest ? `@${ref.digest}` : ''}`
}

/** The name with `:latest` where it has neither tag nor digest; undefined when it is invalid. */
export function withDefaultTag(name: string): string | undefined {
  const ref = parseImageReference(name)
  if (!ref) return undefined
  const last = name.slice(name.lastIndexOf('/') + 1)
  return last.includes(':') || name.includes('@') ? name : `${name}:latest`
}

/** `Always` for `latest`, `IfNotPresent` for every other version and for what cannot be read. */
export function defaultPullPolicy(reference: string | undefined): 'Always' | 'IfNotPresent' {
  return parseImageReference(reference ?? '')?.tag === 'latest' ? 'Always' : 'IfNotPresent'
}
