import { newNotAcceptable, StatusError } from '../../apimachinery/errors.ts'
import type { RequestContext } from '../request/context.ts'

export type MediaType = 'application/json' | 'application/yaml' | 'application/vnd.kubernetes.protobuf'

export const JSON_TYPE: MediaType = 'application/json'
export const YAML_TYPE: MediaType = 'application/yaml'
export const PROTOBUF_TYPE: MediaType = 'application/vnd.kubernetes.protobuf'
export const ALL_TYPES: readonly MediaType[] = [JSON_TYPE, YAML_TYPE, PROTOBUF_TYPE]
export const TEXT_TYPES: readonly MediaType[] = [JSON_TYPE, YAML_TYPE]

/** The form an answer is wanted in. */
export interface Negotiated {
  readonly mediaType: MediaType
  /** Another shape than the resource's own. */
  readonly as?: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList'
  /** Version of `as`: v1 or v1beta1. */
  readonly asVersion?: string
  readonly pretty: boolean
}

interface Clause {
  type: string
  params: Map<string, string>
  q: number
  specificity: number
  index: number
}

/** Parsed Accept headers: clients send few different ones. */
const parsedLimit = 256

export class Negotiator {
  private readonly cache = new Map<string, Clause[]>()

  /**
   * @param types what the endpoint can produce
   * @param asAllowed which other shapes the endpoint offers: of objects, of nothing
   */
  negotiate(context: RequestContext, types: readonly MediaType[], asAllowed: boolean): Negotiated {
    const header = context.request.headers.accept
    if (header === undefined || header === '' || header === '*/*' || header === 'application/json') {
      return { mediaType: types[0] as MediaType, pretty: wantsPretty(context, undefined) }
    }
    const clauses = this.parse(header)
    // Custom resources are not known to the router: their refusal is the negotiation's.
    const custom = types.length === TEXT_TYPES.length && types[1] === YAML_TYPE
    if (!custom && !clauses.some((c) => matchesAny(c.type, types))) throw routerNotAcceptable(types)
    for (const clause of clauses) {
      for (const type of types) {
        if (!matches(clause.type, type)) continue
        const found = this.accept(clause, type, asAllowed)
        if (found) return { ...found, pretty: wantsPretty(context, clause.params) }
      }
    }
    throw newNotAcceptable(`only the following media types are accepted: ${(custom ? ALL_TYPES : types).join(', ')}`)
  }

  /** For watches: yaml has no stream. */
  negotiateWatch(context: RequestContext, types: readonly MediaType[]): Negotiated {
    const streams = types.filter((t) => t !== YAML_TYPE)
    const header = context.request.headers.accept
    if (header === undefined || header === '' || header === '*/*' || header === 'application/json') return { mediaType: JSON_TYPE, pretty: false }
    const clauses = this.parse(header)
    if (!clauses.some((c) => matchesAny(c.type, types))) {
      throw routerNotAcceptable([...types, ...streams.map((t) => `${t};stream=watch`)])
    }
    for (const clause of clauses) {
      for (const type of streams) {
        if (!matches(clause.type, type)) continue
        const found = this.accept(clause, type, true)
        if (found) return { ...found, pretty: false }
      }
    }
    throw newNotAcceptable(`only the following media types are accepted: ${streams.map((t) => `${t};stream=watch`).join(', ')}`)
  }

  /** The media type of an error's body: whatever fits, else JSON. */
  errorType(context: RequestContext): { mediaType: MediaType; pretty: boolean } {
    const header = context.request.headers.accept
    if (header === undefined || header === '' || header === '*/*' || header === 'application/json') {
      return { mediaType: JSON_TYPE, pretty: wantsPretty(context, undefined) }
    }
    for (const clause of this.parse(header)) {
      for (const type of ALL_TYPES) if (matches(clause.type, type)) return { mediaType: type, pretty: wantsPretty(context, clause.params) }
    }
    return { mediaType: JSON_TYPE, pretty: true }
  }

  /** Clauses of an Accept header, best first; also used by discovery. */
  parse(header: string): Clause[] {
    const known = this.cache.get(header)
    if (known) return known
    const clauses: Clause[] = []
    for (const [index, part] of header.split(',').entries()) {
      const [type = '', ...rest] = part.split(';')
      const params = new Map<string, string>()
      let q = 1
      for (const p of rest) {
        const eq = p.indexOf('=')
        if (eq < 0) continue
        const key = p.slice(0, eq).trim().toLowerCase()
        const value = p
          .slice(eq + 1)
          .trim()
          .replace(/^"(.*)"$/, '$1')
        if (key === 'q') q = Number.parseFloat(value)
        else params.set(key, value)
      }
      const name = type.trim().toLowerCase()
      if (name === '' || Number.isNaN(q)) continue
      const specificity = name === '*/*' || name === '*' ? 0 : name.endsWith('/*') ? 1 : 2
      clauses.push({ type: name, params, q, specificity, index })
    }
    clauses.sort((a, b) => b.q - a.q || b.specificity - a.specificity || b.params.size - a.params.size || a.index - b.index)
    if (this.cache.size >= parsedLimit) this.cache.clear()
    this.cache.set(header, clauses)
    return clauses
  }

  private accept(clause: Clause, type: MediaType, asAllowed: boolean): Omit<Negotiated, 'pretty'> | undefined {
    const as = clause.params.get('as')
    if ((as ?? '') === '' && !clause.params.has('g') && !clause.params.has('v')) return { mediaType: type }
    if (!asAllowed) return undefined
    if (clause.params.get('g') !== 'meta.k8s.io') return undefined
    const version = clause.params.get('v')
    if (version !== 'v1' && version !== 'v1beta1') return undefined
    if (as === 'Table') return type === PROTOBUF_TYPE ? undefined : { mediaType: type, as, asVersion: version }
    if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return { mediaType: type, as, asVersion: version }
    return undefined
  }
}

function matches(pattern: string, type: string): boolean {
  return pattern === type || pattern === '*/*' || pattern === 'application/*' || pattern === '*'
}

/** The router knows types by their full names only. */
function matchesAny(pattern: string, types: readonly string[]): boolean {
  return pattern === '*/*' || types.includes(pattern)
}

export function routerNotAcceptable(types: readonly string[]): StatusError {
  return new StatusError({
    code: 406,
    reason: 'NotAcceptable',
    message: `406: Not Acceptable\n\nAvailable representations: ${types.join(', ')}`,
    details: {},
  })
}

const PRETTY_AGENTS = ['curl', 'Wget', 'Mozilla/5.0']

function wantsPretty(context: RequestContext, params: Map<string, string> | undefined): boolean {
  if (context.request.query !== '') {
    const asked = context.query.get('pretty')
    if (asked !== undefined) return isTrue(asked)
  }
  const agent = context.userAgent
  if (PRETTY_AGENTS.some((a) => agent.startsWith(a))) return true
  return params?.get('pretty') === '1'
}

function isTrue(text: string): boolean {
  return ['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text)
}
