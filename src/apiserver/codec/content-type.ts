import { newUnsupportedMediaType, StatusError } from '../../apimachinery/errors.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { ALL_TYPES, JSON_TYPE, type MediaType } from '../negotiation/accept.ts'
import type { RequestContext } from '../request/context.ts'

/** The media type of a body without parameters; undefined when the header cannot be read. Absent means JSON. */
export function bodyTypeOf(header: string | undefined): string | undefined {
  if (header === undefined || header === '') return JSON_TYPE
  if (header === JSON_TYPE) return JSON_TYPE
  const [type = '', ...params] = header.split(';')
  for (const p of params) if (p.trim() !== '' && !p.includes('=')) return undefined
  return type.trim().toLowerCase()
}

/** 415 unless the body's type is one the resource reads. */
export function requireBodyType(context: RequestContext, endpoint: Pick<Endpoint, 'mediaTypes' | 'custom'>): void {
  if (context.request.object !== undefined) return
  const type = bodyTypeOf(context.request.headers['content-type'])
  if (type === undefined || !endpoint.mediaTypes.includes(type as MediaType)) {
    throw newUnsupportedMediaType(`the body of the request was in an unknown format - accepted media types include: ${ALL_TYPES.join(', ')}`)
  }
}

/** The router's 415: the route does not take such bodies at all. */
export function routerUnsupportedMediaType(): StatusError {
  return new StatusError({ code: 415, reason: 'UnsupportedMediaType', message: '415: Unsupported Media Type', details: {} })
}
