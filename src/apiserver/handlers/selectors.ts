import { newBadRequest } from '../../apimachinery/errors.ts'
import { everyField, type FieldSelector, FieldSelectorError, parseFieldSelector } from '../../apimachinery/fields.ts'
import { everything, parseSelector, type Selector, SelectorError } from '../../apimachinery/labels.ts'
import { quote } from '../../apimachinery/quote.ts'
import type { StoredObject } from '../../storage/interface.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'

/** What a list or watch looks for, parsed. */
export interface Selection {
  readonly labels: Selector
  readonly fields: FieldSelector
  /** Both select everything. */
  readonly empty: boolean
  /** The one name the field selector demands. */
  readonly name: string | undefined
  /** The one namespace the field selector demands. */
  readonly namespace: string | undefined
  /** Undefined: everything passes. */
  readonly filter: ((object: StoredObject) => boolean) | undefined
}

const ALL: Selection = { labels: everything, fields: everyField, empty: true, name: undefined, namespace: undefined, filter: undefined }

/** Kinds whose translation of field labels says so in these words. */
const OWN_CONVERSION = new Set([
  'pods',
  'nodes',
  'replicationcontrollers',
  'events',
  'events.events.k8s.io',
  'namespaces',
  'secrets',
  'services',
  'certificatesigningrequests.certificates.k8s.io',
  'clustertrustbundles.certificates.k8s.io',
  'podcertificaterequests.certificates.k8s.io',
])

const NO_NAMESPACE_LABEL = new Set([
  'nodes',
  'namespaces',
  'certificatesigningrequests.certificates.k8s.io',
  'clustertrustbundles.certificates.k8s.io',
  'podcertificaterequests.certificates.k8s.io',
  'resourceslices.resource.k8s.io',
])

/** Parses both selectors of a request. @throws StatusError 400 */
export function parseSelection(endpoint: Endpoint, labelText: string, fieldText: string): Selection {
  if (labelText === '' && fieldText === '') return ALL
  let labels: Selector
  let fields: FieldSelector
  try {
    labels = labelText === '' ? everything : parseSelector(labelText)
    fields = fieldText === '' ? everyField : parseFieldSelector(fieldText)
  } catch (error) {
    if (error instanceof SelectorError || error instanceof FieldSelectorError) throw newBadRequest(error.message)
    throw error
  }
  for (const requirement of fields.requirements) checkFieldLabel(endpoint, requirement.field)
  const name = fields.exactMatch('metadata.name')
  const namespace = endpoint.info.namespaced ? fields.exactMatch('metadata.namespace') : undefined
  const fieldsNeedFilter = fields.requirements.length > 0
  const labelsNeedFilter = !labels.empty
  const strategy = endpoint.store?.strategy
  const own = strategy?.selectableFields
  const onlyMeta = fields.requirements.every((r) => r.field === 'metadata.name' || r.field === 'metadata.namespace')
  return {
    labels,
    fields,
    empty: labels.empty && fields.empty,
    name,
    namespace,
    filter:
      !fieldsNeedFilter && !labelsNeedFilter
        ? undefined
        : (object) => {
            if (labelsNeedFilter && !labels.matches(object.labels)) return false
            if (!fieldsNeedFilter) return true
            return fields.matches(onlyMeta || !own ? metaFields(object, endpoint.info.namespaced) : withOwn(own(object.object as never), object))
          },
  }
}

/** Name and namespace are the key's parts: no need to parse the object. */
function metaFields(object: StoredObject, namespaced: boolean): Record<string, string> {
  const slash = object.key.indexOf('/')
  if (!namespaced || slash < 0) return { 'metadata.name': object.key, 'metadata.namespace': '' }
  return { 'metadata.name': object.key.slice(slash + 1), 'metadata.namespace': object.key.slice(0, slash) }
}

function withOwn(fields: Record<string, string>, object: StoredObject): Record<string, string> {
  const meta = object.object.metadata
  return { 'metadata.name': meta.name ?? '', 'metadata.namespace': meta.namespace ?? '', ...fields }
}

function checkFieldLabel(endpoint: Endpoint, label: string): void {
  const key = endpoint.gr.group === '' ? endpoint.gr.resource : `${endpoint.gr.resource}.${endpoint.gr.group}`
  if (label === 'metadata.name') return
  if (label === 'metadata.namespace' && !NO_NAMESPACE_LABEL.has(key) && !(endpoint.custom && !endpoint.info.namespaced)) return
  const declared = endpoint.registration?.strategy.selectableFieldLabels
  const own = typeof declared === 'function' ? declared(endpoint.gr.group) : declared
  if (own?.includes(label)) return
  if (key === 'jobs.batch') throw newBadRequest(`field label ${quote(label)} not supported for Job`)
  if (key === 'resourceslices.resource.k8s.io')
    throw newBadRequest(`field label not supported for resource.k8s.io/${endpoint.info.version}, Kind=ResourceSlice: ${label}`)
  if (endpoint.custom || OWN_CONVERSION.has(key)) throw newBadRequest(`field label not supported: ${label}`)
  throw newBadRequest(`${quote(label)} is not a known field selector: only "metadata.name", "metadata.namespace"`)
}
