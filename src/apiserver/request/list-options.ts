import { newBadRequest, newInvalid, StatusError } from '../../apimachinery/errors.ts'
import { type ErrorList, FieldPath, forbidden, notSupported } from '../../apimachinery/field.ts'
import { quote } from '../../apimachinery/quote.ts'
import type { Query } from './query.ts'

/** Decoded query of list, watch and deletecollection. */
export interface ListRequest {
  labelSelector: string
  fieldSelector: string
  watch: boolean
  allowWatchBookmarks: boolean
  resourceVersion: string
  resourceVersionMatch: string
  timeoutSeconds: number | undefined
  limit: number
  continue: string
  sendInitialEvents: boolean | undefined
}

const DIGITS = /^[+-]?\d{1,19}$/

/** An integer parameter as Go reads it; 400 with its text otherwise. */
export function parseInt64(query: Query, name: string): number | undefined {
  const text = query.get(name)
  if (text === undefined) return undefined
  if (!DIGITS.test(text)) {
    if (/^[+-]?\d+$/.test(text)) throw newBadRequest(`strconv.ParseInt: parsing ${quote(text)}: value out of range`)
    throw newBadRequest(`strconv.ParseInt: parsing ${quote(text)}: invalid syntax`)
  }
  const value = Number(text)
  if (Math.abs(value) > 2 ** 63) throw newBadRequest(`strconv.ParseInt: parsing ${quote(text)}: value out of range`)
  return value
}

const EMPTY: ListRequest = {
  labelSelector: '',
  fieldSelector: '',
  watch: false,
  allowWatchBookmarks: false,
  resourceVersion: '',
  resourceVersionMatch: '',
  timeoutSeconds: undefined,
  limit: 0,
  continue: '',
  sendInitialEvents: undefined,
}

export function parseListRequest(query: Query): ListRequest {
  if (query.text === '') return EMPTY
  return {
    labelSelector: query.get('labelSelector') ?? '',
    fieldSelector: query.get('fieldSelector') ?? '',
    watch: query.bool('watch'),
    allowWatchBookmarks: query.bool('allowWatchBookmarks'),
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    timeoutSeconds: parseInt64(query, 'timeoutSeconds'),
    limit: Math.max(0, parseInt64(query, 'limit') ?? 0),
    continue: query.get('continue') ?? '',
    sendInitialEvents: query.has('sendInitialEvents') ? query.bool('sendInitialEvents') : undefined,
  }
}

const MATCH = FieldPath.root('resourceVersionMatch')
const INITIAL = FieldPath.root('sendInitialEvents')

/** Refuses combinations that make no sense: 422 on ListOptions. */
export function validateListRequest(o: ListRequest, watch: boolean): void {
  const errors: ErrorList = watch ? watchErrors(o) : listErrors(o)
  if (errors.length > 0) throw newInvalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors)
}

function listErrors(o: ListRequest): ErrorList {
  const errors: ErrorList = []
  const match = o.resourceVersionMatch
  if (match !== '') {
    if (o.resourceVersion === '') errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden unless resourceVersion is provided'))
    if (o.continue !== '') errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden when continue is provided'))
    if (match !== 'Exact' && match !== 'NotOlderThan') errors.push(notSupported(MATCH, match, ['Exact', 'NotOlderThan', '']))
    if (match === 'Exact' && o.resourceVersion === '0') {
      errors.push(forbidden(MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    }
  }
  if (o.sendInitialEvents !== undefined) errors.push(forbidden(INITIAL, 'sendInitialEvents is forbidden for list'))
  return errors
}

function watchErrors(o: ListRequest): ErrorList {
  const errors: ErrorList = []
  const match = o.resourceVersionMatch
  if (o.sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    errors.push(forbidden(MATCH, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'))
  }
  if (match !== '') {
    if (o.sendInitialEvents === undefined) errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'))
    if (match !== 'NotOlderThan') errors.push(notSupported(MATCH, match, ['NotOlderThan']))
  }
  if (o.continue !== '') errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden when continue is provided'))
  return errors
}

const UINT = /^\d{1,20}$/

/** A resourceVersion as a number; undefined when it is none. '' is undefined too: ask for '' before. */
export function parseResourceVersion(text: string): number | undefined {
  if (!UINT.test(text)) return undefined
  const value = Number(text)
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}

export function badVersionText(text: string): string {
  return `resourceVersion: Invalid value: ${quote(text)}: strconv.ParseUint: parsing ${quote(text)}: invalid syntax`
}

/** A plain 500, as GET and WATCH answer a version that is no number. */
export function badVersionError(text: string): StatusError {
  return new StatusError({ code: 500, reason: '', message: badVersionText(text) })
}
