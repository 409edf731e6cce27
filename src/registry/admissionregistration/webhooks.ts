import type { admissionregistrationv1 } from '../../api/index.ts'
import { duplicate, type ErrorList, FieldPath, invalid, notSupported, required } from '../../apimachinery/field.ts'
import { validateLabelSelector } from '../../apimachinery/validation/labels.ts'
import { isDNS1035Label, isDNS1123Subdomain } from '../../apimachinery/validation/names.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { webhooksColumns } from './columns.ts'
import { validateMatchConditions, validateMatchRule } from './rules.ts'

type Mutating = admissionregistrationv1.MutatingWebhookConfiguration
type Webhook = admissionregistrationv1.MutatingWebhook
type ClientConfig = admissionregistrationv1.WebhookClientConfig

const VERSIONS = ['v1', 'v1beta1']
const FAILURE_POLICIES = ['Fail', 'Ignore']
const MATCH_POLICIES = ['Equivalent', 'Exact']
const REINVOCATION_POLICIES = ['IfNeeded', 'Never']
const SIDE_EFFECTS = ['None', 'NoneOnDryRun']

function defaultsOf(mutating: boolean): (item: Mutating) => void {
  return ({ webhooks }) => {
    for (const hook of webhooks ?? []) {
      hook.failurePolicy ??= 'Fail'
      hook.matchPolicy ??= 'Equivalent'
      hook.namespaceSelector ??= {}
      hook.objectSelector ??= {}
      hook.timeoutSeconds ??= 10
      if (mutating) hook.reinvocationPolicy ??= 'Never'
      if (hook.clientConfig?.service) hook.clientConfig.service.port ??= 443
      for (const rule of hook.rules ?? []) rule.scope ??= '*'
    }
  }
}

function validate(item: Mutating): ErrorList {
  const errors: ErrorList = []
  const names = new Set<string>()
  for (const [i, hook] of (item.webhooks ?? []).entries()) {
    const path = FieldPath.root('webhooks').index(i)
    errors.push(...validateWebhook(hook, path), ...validateReviewVersions(hook.admissionReviewVersions ?? [], path.child('admissionReviewVersions')))
    if (hook.name) {
      if (names.has(hook.name)) errors.push(duplicate(path.child('name'), hook.name))
      names.add(hook.name)
    }
  }
  return errors
}

function validateReviewVersions(versions: readonly string[], path: FieldPath): ErrorList {
  if (versions.length === 0) return [required(path, `must specify one of ${VERSIONS.join(', ')}`)]
  const errors: ErrorList = []
  const seen = new Set<string>()
  for (const [i, version] of versions.entries()) {
    if (seen.has(version)) errors.push(invalid(path.index(i), version, 'duplicate version'))
    seen.add(version)
    for (const text of isDNS1035Label(version)) errors.push(invalid(path.index(i), version, text))
  }
  if (!versions.some((v) => VERSIONS.includes(v))) errors.push(invalid(path, versions, `must include at least one of ${VERSIONS.join(', ')}`))
  return errors
}

function validateWebhook(hook: Webhook, path: FieldPath): ErrorList {
  const errors: ErrorList = qualifiedDomain(hook.name ?? '', path.child('name'))
  for (const [i, rule] of (hook.rules ?? []).entries()) errors.push(...validateMatchRule(rule, path.child('rules').index(i)))
  const oneOf = (field: 'failurePolicy' | 'matchPolicy' | 'reinvocationPolicy', values: readonly string[]) => {
    const value = hook[field]
    if (value !== undefined && !values.includes(value)) errors.push(notSupported(path.child(field), value, values))
  }
  oneOf('failurePolicy', FAILURE_POLICIES)
  oneOf('matchPolicy', MATCH_POLICIES)
  const effects = path.child('sideEffects')
  if (!hook.sideEffects) errors.push(required(effects, `must specify one of ${SIDE_EFFECTS.join(', ')}`))
  else if (!SIDE_EFFECTS.includes(hook.sideEffects)) errors.push(notSupported(effects, hook.sideEffects, SIDE_EFFECTS))
  const seconds = hook.timeoutSeconds
  if (seconds !== undefined && (seconds < 1 || seconds > 30))
    errors.push(invalid(path.child('timeoutSeconds'), seconds, 'the timeout value must be between 1 and 30 seconds'))
  errors.push(...validateLabelSelector(hook.namespaceSelector, path.child('namespaceSelector')))
  errors.push(...validateLabelSelector(hook.objectSelector, path.child('objectSelector')))
  oneOf('reinvocationPolicy', REINVOCATION_POLICIES)
  errors.push(...validateClientConfig(hook.clientConfig ?? {}, path.child('clientConfig')))
  errors.push(...validateMatchConditions(hook.matchConditions, path.child('matchConditions')))
  return errors
}

/** A domain of at least three parts, so that names of different makers do not meet. */
function qualifiedDomain(name: string, path: FieldPath): ErrorList {
  if (name === '') return [required(path)]
  const wrong = isDNS1123Subdomain(name)
  if (wrong.length) return wrong.map((text) => invalid(path, name, text))
  return name.split('.').length < 3 ? [invalid(path, name, 'should be a domain with at least three segments separated by dots')] : []
}

function validateClientConfig(config: Partial<ClientConfig>, path: FieldPath): ErrorList {
  const { url, service } = config
  if ((url === undefined) === (service === undefined)) return [required(path, 'exactly one of url or service is required')]
  if (url !== undefined) return validateURL(url, path.child('url'))
  return validateService(service as admissionregistrationv1.ServiceReference, path.child('service'))
}

const DESIRED = '; desired format: https://host[/path]'
const urlRe = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/(?:([^/?#]*)@)?([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s

/** Taken apart by hand: unlike the standard's parser this keeps what was written. */
function validateURL(url: string, path: FieldPath): ErrorList {
  const [, scheme = '', user = '', host = '', , query = '', fragment = ''] = urlRe.exec(url.slice(0, 65536)) ?? []
  const errors: ErrorList = []
  if (scheme !== 'https') errors.push(invalid(path, scheme, `'https' is the only allowed URL scheme${DESIRED}`))
  if (host === '') errors.push(invalid(path, host, `host must be specified${DESIRED}`))
  if (user !== '') errors.push(invalid(path, user, 'user information is not permitted in the URL'))
  if (fragment !== '') errors.push(invalid(path, fragment, 'fragments are not permitted in the URL'))
  if (query !== '') errors.push(invalid(path, query, 'query parameters are not permitted in the URL'))
  return errors
}

function validateService(service: admissionregistrationv1.ServiceReference, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  if (!service.name) errors.push(required(path.child('name')))
  if (!service.namespace) errors.push(required(path.child('namespace')))
  const port = service.port ?? 443
  if (port < 1 || port > 65535) errors.push(invalid(path.child('port'), port, 'port is not valid: must be between 1 and 65535, inclusive'))
  const urlPath = service.path
  if (urlPath === undefined) return errors
  const at = path.child('path')
  if (!urlPath.startsWith('/')) errors.push(invalid(at, urlPath, "must start with a '/'"))
  if (urlPath === '/') return errors
  const segments = (urlPath.endsWith('/') ? urlPath.slice(1, -1) : urlPath.slice(1)).split('/')
  for (const [i, segment] of segments.entries()) {
    if (segment === '') {
      errors.push(invalid(at, urlPath, `segment[${i}] may not be empty`))
      continue
    }
    for (const text of isDNS1123Subdomain(segment)) errors.push(invalid(at, urlPath, `segment[${i}]: ${text}`))
  }
  return errors
}

function kind(resource: string, name: string, mutating: boolean): KindRegistration<Mutating> {
  const group = 'admissionregistration.k8s.io'
  return {
    group,
    resource,
    storage: { group, version: 'v1', kind: name },
    strategy: { allowUnconditionalUpdate: false, defaults: defaultsOf(mutating), validate, validateUpdate: (item) => validate(item) },
    columns: webhooksColumns,
  }
}

export const webhookKinds = [
  kind('mutatingwebhookconfigurations', 'MutatingWebhookConfiguration', true),
  kind('validatingwebhookconfigurations', 'ValidatingWebhookConfiguration', false),
] as KindRegistration[]
