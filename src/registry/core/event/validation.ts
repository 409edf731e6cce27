import type { corev1 } from '../../../api/index.ts'
import { type ErrorList, FieldPath, invalid, required } from '../../../apimachinery/field.ts'
import { IMMUTABLE, nameIsDNSSubdomain } from '../../../apimachinery/validation/index.ts'
import { isQualifiedName } from '../../../apimachinery/validation/names.ts'
import { validateObjectMeta } from '../../../apimachinery/validation/object-meta.ts'
import type { StrategyContext } from '../../../apiserver/registry/strategy.ts'
import { deepEqual } from '../../../base/index.ts'
import { internalForm } from '../../internal-form.ts'

type Event = corev1.Event

const at = (...names: string[]) => FieldPath.root(...names)
const isNewGroup = (context: StrategyContext) => context.requestVersion?.group === 'events.k8s.io'
/** Upstream leaves the value out of these. */
const bad = (path: FieldPath, text: string) => invalid(path, '', text)

/** What the core group asks of Events; the newer group asks it too. */
function validateLegacy(event: Event, context: StrategyContext): ErrorList {
  const errors: ErrorList = []
  const namespace = event.metadata.namespace ?? ''
  const involved = event.involvedObject?.namespace ?? ''
  const mismatch = () => errors.push(invalid(at('involvedObject', 'namespace'), involved, 'does not match event.namespace'))
  if (!event.eventTime) {
    if (involved === '' ? namespace !== '' && namespace !== 'default' : involved !== namespace) mismatch()
    return errors
  }
  if (involved === '' && namespace !== 'default' && namespace !== 'kube-system') mismatch()
  const controller = at(isNewGroup(context) ? 'reportingController' : 'reportingComponent')
  const name = event.reportingComponent ?? ''
  if (name === '') errors.push(required(controller))
  for (const text of isQualifiedName(name)) errors.push(invalid(controller, name, text))
  for (const field of ['reportingInstance', 'action', 'reason'] as const) {
    const value = event[field] ?? ''
    if (value === '') errors.push(required(at(field)))
    if (Buffer.byteLength(value) > 128) errors.push(bad(at(field), 'can have at most 128 characters'))
  }
  if (Buffer.byteLength(event.message ?? '') > 1024) errors.push(bad(at('message'), 'can have at most 1024 characters'))
  return errors
}

function validateSeries(event: Event): ErrorList {
  const { series } = event
  if (!series) return []
  const errors: ErrorList = []
  if ((series.count ?? 0) < 2) errors.push(bad(at('series', 'count'), 'should be at least 2'))
  if (!series.lastObservedTime) errors.push(required(at('series', 'lastObservedTime')))
  return errors
}

export function validateEvent(event: Event, context: StrategyContext): ErrorList {
  const errors = validateLegacy(event, context)
  if (!isNewGroup(context)) return errors
  errors.push(...validateObjectMeta(event.metadata, { namespaced: true, nameRule: nameIsDNSSubdomain }, at('metadata')), ...validateSeries(event))
  if (!event.eventTime) errors.push(required(at('eventTime')))
  if (event.type !== 'Normal' && event.type !== 'Warning') errors.push(bad(at('type'), `has invalid value: ${event.type ?? ''}`))
  const unset = (field: string, isSet: boolean) => {
    if (isSet) errors.push(bad(at(field), 'needs to be unset'))
  }
  unset('firstTimestamp', !!event.firstTimestamp)
  unset('lastTimestamp', !!event.lastTimestamp)
  unset('count', !!event.count)
  unset('source', !!(event.source?.component || event.source?.host))
  return errors
}

export function validateEventUpdate(event: Event, old: Event, context: StrategyContext): ErrorList {
  const errors = validateLegacy(event, context)
  if (!isNewGroup(context)) return errors
  if (!deepEqual(event.series, old.series)) errors.push(...validateSeries(event))
  const fixed = (field: string, now: unknown, before: unknown, shown: unknown = now ?? '') => {
    if (!deepEqual(now ?? '', before ?? '')) errors.push(invalid(at(field), shown, IMMUTABLE))
  }
  const reference = (ref: corev1.ObjectReference | undefined) => internalForm('ObjectReference', ref ?? {})
  fixed('involvedObject', event.involvedObject, old.involvedObject, reference(event.involvedObject))
  fixed('reason', event.reason, old.reason)
  fixed('message', event.message, old.message)
  fixed('source', event.source ?? {}, old.source ?? {}, internalForm('EventSource', event.source ?? {}))
  fixed('firstTimestamp', event.firstTimestamp, old.firstTimestamp)
  fixed('lastTimestamp', event.lastTimestamp, old.lastTimestamp)
  fixed('count', event.count ?? 0, old.count ?? 0)
  // Upstream compares the reason a second time, and causes tell both.
  fixed('reason', event.reason, old.reason)
  fixed('type', event.type, old.type)
  fixed('eventTime', event.eventTime, old.eventTime)
  fixed('action', event.action, old.action)
  fixed('related', event.related, old.related, event.related ? reference(event.related) : null)
  fixed('reportingController', event.reportingComponent, old.reportingComponent)
  fixed('reportingInstance', event.reportingInstance, old.reportingInstance)
  return errors
}
