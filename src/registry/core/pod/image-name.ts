/** What an image reference says about its version. */
export interface ImageName {
  readonly repository: string
  /** `latest` when the reference has neither tag nor digest. */
  readonly tag: string
  readonly digest: string
}

const tagRe = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/
const digestRe = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/
const componentRe = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/
const domainRe = /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*(?::[0-9]+)?$/
const ipv6DomainRe = /^\[[0-9a-fA-F:]+\](?::[0-9]+)?$/

/** Parses a reference as image tools do; undefined when it is none (upper-case repository, a bare 64-digit id, bad characters). */
export function parseImageName(reference: string): ImageName | undefined {
  if (reference === '' || /^[0-9a-f]{64}$/.test(reference)) return undefined
  let rest = reference
  let digest = ''
  const at = rest.indexOf('@')
  if (at >= 0) {
    digest = rest.slice(at + 1)
    rest = rest.slice(0, at)
    if (!digestRe.test(digest)) return undefined
  }
  let tag = ''
  const colon = rest.lastIndexOf(':')
  if (colon > rest.lastIndexOf('/')) {
    tag = rest.slice(colon + 1)
    rest = rest.slice(0, colon)
    if (!tagRe.test(tag)) return undefined
  }
  let path = rest
  let domain = ''
  const slash = rest.indexOf('/')
  const head = slash < 0 ? '' : rest.slice(0, slash)
  if (slash >= 0 && (/[.:]/.test(head) || head === 'localhost' || head.toLowerCase() !== head)) {
    domain = head
    path = rest.slice(slash + 1)
    if (!domainRe.test(domain) && !ipv6DomainRe.test(domain)) return undefined
  }
  if (rest.length > 255 || !path.split('/').every((c) => componentRe.test(c))) return undefined
  return { repository: domain === '' ? path : `${domain}/${path}`, tag: tag === '' && digest === '' ? 'latest' : tag, digest }
}

/** `Always` for `latest`, `IfNotPresent` for every other version and for what cannot be read. */
export function defaultPullPolicy(reference: string | undefined): 'Always' | 'IfNotPresent' {
  return parseImageName(reference ?? '')?.tag === 'latest' ? 'Always' : 'IfNotPresent'
}
