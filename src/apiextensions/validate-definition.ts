import type { CustomResourceDefinition, CustomResourceDefinitionNames, CustomResourceDefinitionVersion } from '../api/apiextensions/v1/types.generated.ts'
import * as field from '../apimachinery/field.ts'
import { type ErrorList, FieldPath } from '../apimachinery/field.ts'
import { isDNS1035Label, isDNS1123Subdomain } from '../apimachinery/validation/names.ts'
import { deepEqual } from '../base/deep-freeze.ts'
import { internalVersions } from './internal-form.ts'
import { validateSchema } from './validate-schema.ts'
import { validateColumns, validateScale, validateSelectableFields } from './validate-version.ts'

type Version = CustomResourceDefinitionVersion

const SPEC = FieldPath.root('spec')
const STORED = FieldPath.root('status', 'storedVersions')

/** A new definition, in upstream's order and words. */
export function validateDefinition(definition: CustomResourceDefinition): ErrorList {
  const errors: ErrorList = []
  const { spec, metadata } = definition
  if (metadata.generateName) {
    errors.push(field.invalid(FieldPath.root('metadata', 'generateName'), metadata.generateName, 'must be spec.names.plural+"."+spec.group'))
  }
  if (metadata.name !== `${spec.names.plural}.${spec.group}`) {
    errors.push(field.invalid(FieldPath.root('metadata', 'name'), metadata.name, 'must be spec.names.plural+"."+spec.group'))
  }
  errors.push(...validateSpec(definition), ...validateStored(definition), ...validateApproval(definition))
  return errors
}

/** A changed one; what cannot change any more is compared first. */
export function validateDefinitionUpdate(definition: CustomResourceDefinition, old: CustomResourceDefinition): ErrorList {
  const errors: ErrorList = []
  const established = old.status?.conditions?.some((c) => c.type === 'Established' && c.status === 'True') ?? false
  const { spec } = definition
  const immutable = (path: FieldPath, now: unknown, before: unknown) => {
    if (!deepEqual(now, before)) errors.push(field.invalid(path, now, 'field is immutable'))
  }
  errors.push(...validateSpec(definition, old))
  if (established) {
    immutable(SPEC.child('scope'), spec.scope, old.spec.scope)
    immutable(SPEC.child('names', 'kind'), spec.names.kind, old.spec.names.kind)
  }
  immutable(SPEC.child('group'), spec.group, old.spec.group)
  immutable(SPEC.child('names', 'plural'), spec.names.plural, old.spec.names.plural)
  errors.push(...validateStored(definition), ...(isApproved(old) ? validateApproval(definition) : []))
  return errors
}

function isApproved(old: CustomResourceDefinition): boolean {
  return !isProtected(old.spec.group) || Boolean(old.metadata.annotations?.['api-approved.kubernetes.io'])
}

function isProtected(group: string): boolean {
  return group === 'k8s.io' || group === 'kubernetes.io' || group.endsWith('.k8s.io') || group.endsWith('.kubernetes.io')
}

function validateApproval(definition: CustomResourceDefinition): ErrorList {
  if (!isProtected(definition.spec.group)) return []
  const path = FieldPath.root('metadata', 'annotations').key('api-approved.kubernetes.io')
  const value = definition.metadata.annotations?.['api-approved.kubernetes.io']
  const see = 'see https://github.com/kubernetes/enhancements/pull/1111'
  if (!value) return [field.required(path, `protected groups must have approval annotation "api-approved.kubernetes.io", ${see}`)]
  if (value.startsWith('unapproved')) return []
  if (/^https?:\/\/[^/\s]+/.test(value)) return []
  return [
    field.invalid(
      path,
      value,
      `protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", ${see}`,
    ),
  ]
}

function validateSpec(definition: CustomResourceDefinition, _old?: CustomResourceDefinition): ErrorList {
  const errors: ErrorList = []
  const { spec } = definition
  if (!spec.group) errors.push(field.required(SPEC.child('group')))
  else {
    const problems = isDNS1123Subdomain(spec.group)
    if (problems.length > 0) errors.push(field.invalid(SPEC.child('group'), spec.group, problems.join(',')))
    else if (!spec.group.includes('.')) errors.push(field.invalid(SPEC.child('group'), spec.group, 'should be a domain with at least one dot'))
  }
  if (!spec.scope) errors.push(field.required(SPEC.child('scope')))
  else if (spec.scope !== 'Cluster' && spec.scope !== 'Namespaced') errors.push(field.notSupported(SPEC.child('scope'), spec.scope, ['Cluster', 'Namespaced']))
  const versions = spec.versions ?? []
  const single = shared(versions)
  const path = SPEC.child('versions')
  const names = new Set<string>()
  let isUnique = true
  for (const [i, version] of versions.entries()) {
    if (names.has(version.name)) isUnique = false
    names.add(version.name)
    const at = path.index(i)
    const problems = isDNS1035Label(version.name)
    if (problems.length > 0) errors.push(field.invalid(at.child('name'), version.name, problems.join(',')))
    errors.push(...validateVersion(version, single ? SPEC : at, single, at))
  }
  if (!isUnique) errors.push(field.invalid(path, internalVersions(spec.versions), 'must contain unique version names'))
  if (versions.filter((v) => v.storage).length !== 1) {
    errors.push(field.invalid(path, internalVersions(spec.versions), 'must have exactly one version marked as storage version'))
  }
  // The first version's name is a field of its own inside.
  const first = versions[0]?.name
  if (first && isUnique) {
    const problems = isDNS1035Label(first)
    if (problems.length > 0) errors.push(field.invalid(SPEC.child('version'), first, problems.join(',')))
  }
  if (spec.preserveUnknownFields === true) {
    errors.push(
      field.invalid(
        SPEC.child('preserveUnknownFields'),
        true,
        'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      ),
    )
  }
  errors.push(...validateNames(spec.names, SPEC.child('names')), ...validateConversion(definition))
  return errors
}

/** Whether all versions are of one shape, which is then reported as the spec's own. */
function shared(versions: readonly Version[]): boolean {
  const shape = (v: Version) => ({ schema: v.schema, subresources: v.subresources, columns: v.additionalPrinterColumns, selectable: v.selectableFields })
  const first = versions[0]
  return first !== undefined && versions.every((v) => deepEqual(clean(shape(v)), clean(shape(first))))
}

function clean(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

function validateVersion(version: Version, at: FieldPath, single: boolean, own: FieldPath): ErrorList {
  const errors: ErrorList = []
  const warning = version.deprecationWarning
  if (warning !== undefined && warning !== null) {
    const path = own.child('deprecationWarning')
    if (!version.deprecated) errors.push(field.invalid(path, warning, 'can only be set for deprecated versions'))
    else if (warning === '') errors.push(field.invalid(path, warning, 'must not be an empty string'))
    else {
      const odd = [...warning].findIndex((c) => /[\p{C}\p{Zl}\p{Zp}]/u.test(c))
      if (odd >= 0) errors.push(field.invalid(path, warning, `must only contain printable UTF-8 characters; non-printable character found at index ${odd}`))
      else if (Buffer.byteLength(warning) > 256) errors.push(field.tooLong(path, 256))
    }
  }
  const schema = version.schema?.openAPIV3Schema
  if (!schema) errors.push(field.required(own.child('schema', 'openAPIV3Schema')))
  else errors.push(...validateSchema(schema, at.child(single ? 'validation' : 'schema', 'openAPIV3Schema')))
  errors.push(...validateScale(version.subresources?.scale, at.child('subresources', 'scale')))
  errors.push(...validateColumns(version.additionalPrinterColumns, at.child('additionalPrinterColumns')))
  if (schema) errors.push(...validateSelectableFields(version.selectableFields, schema, at.child('selectableFields')))
  return errors
}

function validateNames(names: CustomResourceDefinitionNames, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  const label = (at: FieldPath, value: string) => {
    const problems = isDNS1035Label(value)
    if (problems.length > 0) errors.push(field.invalid(at, value, problems.join(',')))
  }
  const kindLike = (at: FieldPath, value: string) => {
    const problems = isDNS1035Label(value.toLowerCase())
    if (problems.length > 0) errors.push(field.invalid(at, value, `may have mixed case, but should otherwise match: ${problems.join(',')}`))
  }
  if (!names.plural) errors.push(field.required(path.child('plural')))
  else label(path.child('plural'), names.plural)
  if (!names.singular) errors.push(field.required(path.child('singular')))
  else label(path.child('singular'), names.singular)
  if (!names.kind) errors.push(field.required(path.child('kind')))
  else kindLike(path.child('kind'), names.kind)
  if (names.listKind) {
    kindLike(path.child('listKind'), names.listKind)
    if (names.listKind === names.kind) errors.push(field.invalid(path.child('listKind'), names.listKind, 'kind and listKind may not be the same'))
  } else errors.push(field.required(path.child('listKind')))
  for (const [i, s] of (names.shortNames ?? []).entries()) label(path.child('shortNames').index(i), s)
  for (const [i, c] of (names.categories ?? []).entries()) label(path.child('categories').index(i), c)
  return errors
}

function validateConversion(definition: CustomResourceDefinition): ErrorList {
  const errors: ErrorList = []
  const conversion = definition.spec.conversion
  if (!conversion) return errors
  const path = SPEC.child('conversion')
  const client = conversion.webhook?.clientConfig
  const versions = conversion.webhook?.conversionReviewVersions
  if (conversion.strategy === 'Webhook') {
    const at = path.child('webhookClientConfig')
    if (!client) errors.push(field.required(at, 'required when strategy is set to Webhook'))
    else if ((client.url !== undefined) === (client.service !== undefined)) errors.push(field.required(at, 'exactly one of url or service is required'))
    else if (client.url !== undefined) errors.push(...validateURL(client.url, at.child('url')))
    else if (client.service) {
      if (!client.service.name) errors.push(field.required(at.child('service', 'name'), 'service name is required'))
      if (!client.service.namespace) errors.push(field.required(at.child('service', 'namespace'), 'service namespace is required'))
    }
    const review = path.child('conversionReviewVersions')
    if (!versions?.length) errors.push(field.required(review))
    else if (!versions.includes('v1') && !versions.includes('v1beta1')) errors.push(field.invalid(review, versions, 'must include at least one of v1, v1beta1'))
  } else {
    if (conversion.strategy === '') errors.push(field.required(path.child('strategy')))
    else if (conversion.strategy !== 'None') errors.push(field.notSupported(path.child('strategy'), conversion.strategy, ['None', 'Webhook']))
    else {
      const text = 'should not be set when strategy is not set to Webhook'
      if (client) errors.push(field.forbidden(path.child('webhookClientConfig'), text))
      if (versions?.length) errors.push(field.forbidden(path.child('conversionReviewVersions'), text))
    }
  }
  return errors
}

function validateURL(text: string, path: FieldPath): ErrorList {
  const form = '; desired format: https://host[/path]'
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return [field.required(path, `url must be a valid URL${form}`)]
  }
  const errors: ErrorList = []
  const scheme = url.protocol.slice(0, -1)
  if (scheme !== 'https') errors.push(field.invalid(path, scheme, `'https' is the only allowed URL scheme${form}`))
  if (url.host === '') errors.push(field.invalid(path, url.host, `host must be specified${form}`))
  if (url.username !== '') errors.push(field.invalid(path, url.username, 'user information is not permitted in the URL'))
  if (url.hash !== '') errors.push(field.invalid(path, url.hash.slice(1), 'fragments are not permitted in the URL'))
  if (url.search !== '') errors.push(field.invalid(path, url.search.slice(1), 'query parameters are not permitted in the URL'))
  return errors
}

/** Versions once stored stay until the objects were migrated. */
function validateStored(definition: CustomResourceDefinition): ErrorList {
  const errors: ErrorList = []
  const stored = definition.status?.storedVersions ?? null
  const names = new Set((definition.spec.versions ?? []).map((v) => v.name))
  if (!stored?.length) errors.push(field.invalid(STORED, stored, 'must have at least one stored version'))
  for (const [i, version] of (stored ?? []).entries()) {
    if (names.has(version)) continue
    errors.push(
      field.invalid(
        STORED.index(i),
        version,
        `missing from spec.versions; ${version} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${version} and removes ${version} from status.storedVersions`,
      ),
    )
  }
  if (stored?.length) {
    // Of several marked ones, upstream looks at the last.
    const storage = (definition.spec.versions ?? []).filter((v) => v.storage).at(-1)?.name
    if (storage !== undefined && !stored.includes(storage)) errors.push(field.invalid(STORED, stored, `must have the storage version ${storage}`))
  }
  return errors
}
