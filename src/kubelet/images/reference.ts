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

const PATH_PART = /^[a-z0-9]+(?:(?:[._]|__|-{1,16})[a-z0-9]+){0,64}$/
const TAG = /^\w[\w.-]{0,127}$/
const DIGEST = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*){0,4}:[0-9A-Fa-f]{32,128}$/
const DOMAIN = /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})(?:\.[A-Za-z0-9-]{1,63}){0,10}|\[[0-9a-fA-F:]{2,45}\])(?::\d{1,5})?$/

/** Undefined for what is no valid reference. */
export function parseImageReference(name: string): ImageReference | undefined {
  if (name === '' || name.length > 512 || /^[a-f0-9]{64}$/.test(name)) return undefined
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
