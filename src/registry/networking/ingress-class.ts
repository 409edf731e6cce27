import type { networkingv1 } from '../../api/index.ts'
import { type ErrorList, FieldPath, forbidden, invalid, notSupported, required, tooLong } from '../../apimachinery/field.ts'
import { byteLength, IMMUTABLE } from '../../apimachinery/validation/messages.ts'
import { isDNS1123Label, isDNS1123Subdomain, isPathSegmentName } from '../../apimachinery/validation/names.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { domainPrefixedPathErrors } from '../domain-path.ts'
import { ingressClassColumns } from './columns.ts'

type IngressClass = networkingv1.IngressClass

const SPEC = FieldPath.root('spec')
const MAX_CONTROLLER = 250
const SCOPES = ['Cluster', 'Namespace']

function validate({ spec }: IngressClass): ErrorList {
  const errors: ErrorList = []
  const controller = spec?.controller ?? ''
  const path = SPEC.child('controller')
  if (byteLength(controller) > MAX_CONTROLLER) errors.push(tooLong(path, MAX_CONTROLLER))
  errors.push(...domainPrefixedPathErrors(controller, path))
  const parameters = spec?.parameters
  if (!parameters) return errors
  const at = SPEC.child('parameters')
  if (parameters.apiGroup !== undefined)
    for (const text of isDNS1123Subdomain(parameters.apiGroup)) errors.push(invalid(at.child('apiGroup'), parameters.apiGroup, text))
  const segment = (field: 'kind' | 'name') => {
    const value = parameters[field] ?? ''
    if (value === '') errors.push(required(at.child(field)))
    else for (const text of isPathSegmentName(value)) errors.push(invalid(at.child(field), value, text))
  }
  segment('kind')
  segment('name')
  const { scope, namespace } = parameters
  if (scope !== undefined && !SCOPES.includes(scope)) errors.push(notSupported(at.child('scope'), scope, SCOPES))
  if (scope === 'Namespace') {
    if (namespace === undefined) errors.push(required(at.child('namespace'), "`parameters.scope` is set to 'Namespace'"))
    else for (const text of isDNS1123Label(namespace)) errors.push(invalid(at.child('namespace'), namespace, text))
  }
  if (scope !== undefined && scope !== 'Namespace' && namespace !== undefined)
    errors.push(forbidden(at.child('namespace'), `\`parameters.scope\` is set to '${scope}'`))
  return errors
}

export const ingressClassKind: KindRegistration<IngressClass> = {
  group: 'networking.k8s.io',
  resource: 'ingressclasses',
  storage: { group: 'networking.k8s.io', version: 'v1', kind: 'IngressClass' },
  strategy: {
    defaults({ spec }) {
      if (spec?.parameters) spec.parameters.scope ??= 'Cluster'
    },
    validate,
    validateUpdate(item, old) {
      const errors: ErrorList = []
      if ((item.spec?.controller ?? '') !== (old.spec?.controller ?? '')) errors.push(invalid(SPEC.child('controller'), item.spec?.controller ?? '', IMMUTABLE))
      return [...errors, ...validate(item)]
    },
  },
  columns: ingressClassColumns,
}
