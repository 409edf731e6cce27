import type { corev1, eventsv1 } from '../../../api/index.ts'
import type { GroupVersionKind, KubeObject } from '../../../apimachinery/object.ts'
import type { KindRegistration } from '../../../apiserver/registry/strategy.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { columnList } from '../../columns.ts'
import { validateEvent, validateEventUpdate } from './validation.ts'

type Event = corev1.Event
type NewEvent = eventsv1.Event

const REFERENCE = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'] as const
const OTHERS = ['reason', 'type']

function labelsOf(group: string): string[] {
  const isNew = group === 'events.k8s.io'
  const reference = isNew ? 'regarding' : 'involvedObject'
  return [...REFERENCE.map((f) => `${reference}.${f}`), ...OTHERS, ...(isNew ? ['reportingController'] : ['reportingComponent', 'source'])]
}

function selectableFields(event: Event): Record<string, string> {
  const fields: Record<string, string> = {
    reason: event.reason ?? '',
    reportingComponent: event.reportingComponent ?? '',
    reportingController: event.reportingComponent ?? '',
    source: event.source?.component || (event.reportingComponent ?? ''),
    type: event.type ?? '',
  }
  for (const name of REFERENCE) fields[`involvedObject.${name}`] = fields[`regarding.${name}`] = event.involvedObject?.[name] ?? ''
  return fields
}

/** The two groups show one object with other names for some fields. */
function convert(object: KubeObject, to: GroupVersionKind): KubeObject {
  if (to.group === 'events.k8s.io') {
    const e = object as Event
    return defined({
      kind: 'Event',
      apiVersion: 'events.k8s.io/v1',
      metadata: e.metadata,
      eventTime: e.eventTime ?? null,
      series: e.series,
      reportingController: e.reportingComponent || undefined,
      reportingInstance: e.reportingInstance || undefined,
      action: e.action,
      reason: e.reason,
      regarding: e.involvedObject,
      related: e.related,
      note: e.message,
      type: e.type,
      deprecatedSource: e.source ?? {},
      deprecatedFirstTimestamp: e.firstTimestamp ?? null,
      deprecatedLastTimestamp: e.lastTimestamp ?? null,
      deprecatedCount: e.count,
    })
  }
  const e = object as NewEvent
  return defined({
    kind: 'Event',
    apiVersion: 'v1',
    metadata: e.metadata,
    involvedObject: e.regarding ?? {},
    reason: e.reason,
    message: e.note,
    source: e.deprecatedSource ?? {},
    firstTimestamp: e.deprecatedFirstTimestamp ?? null,
    lastTimestamp: e.deprecatedLastTimestamp ?? null,
    count: e.deprecatedCount,
    type: e.type,
    eventTime: e.eventTime ?? null,
    series: e.series,
    action: e.action,
    related: e.related,
    reportingComponent: e.reportingController ?? '',
    reportingInstance: e.reportingInstance ?? '',
  })
}

function defined(fields: Record<string, unknown>): KubeObject {
  for (const name of Object.keys(fields)) if (fields[name] === undefined) delete fields[name]
  return fields as unknown as KubeObject
}

/** Stored once as core/v1, shown by both groups; gone after an hour without change. */
export const eventKind: KindRegistration<Event> = {
  group: '',
  resource: 'events',
  storage: { group: '', version: 'v1', kind: 'Event' },
  ttlSeconds: 3600,
  convert,
  strategy: {
    nameRule: 'pathSegment',
    generation: 'none',
    validate: validateEvent,
    validateUpdate: validateEventUpdate,
    selectableFields,
    selectableFieldLabels: labelsOf,
  },
  columns: {
    columns: columnList('Last Seen|Type|Reason|Object|Subobject*|Source*|Message|First Seen*|Count*|Name/name*'),
    cells(event, now) {
      const { involvedObject, series, source } = event
      const first = event.firstTimestamp || event.eventTime
      const last = series ? series.lastObservedTime : event.lastTimestamp || first
      const component = source?.component || event.reportingComponent || ''
      const host = source?.host || event.reportingInstance || ''
      const kind = (involvedObject?.kind ?? '').toLowerCase()
      return [
        ageOf(last, now),
        event.type ?? '',
        event.reason ?? '',
        involvedObject?.name ? `${kind}/${involvedObject.name}` : kind,
        involvedObject?.fieldPath ?? '',
        host ? `${component}, ${host}` : component,
        (event.message ?? '').trim(),
        ageOf(first, now),
        series ? series.count : event.count || 1,
        event.metadata.name ?? '',
      ]
    },
  },
}
