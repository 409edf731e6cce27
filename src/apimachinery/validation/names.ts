import { EMPTY_TEXT, inclusiveRange, longerThan, maxBytes, maxCharacters, regexMessage } from './messages.ts'

/**
 * The name rules of Kubernetes. Each returns what is wrong with the text, in upstream's words; an empty list means it is
 * fine. All expressions take time linear in the text.
 */
export type TextRule = (value: string) => string[]

const NONE: string[] = []

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`
const DNS1035 = '[a-z]([-a-z0-9]*[a-z0-9])?'
const UNDERSCORE_LABEL = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const CASELESS_LABEL = '[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?'
const QUALIFIED = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'

const labelRe = new RegExp(`^${LABEL}$`)
const subdomainRe = new RegExp(`^${SUBDOMAIN}$`)
const dns1035Re = new RegExp(`^${DNS1035}$`)
const underscoreRe = new RegExp(`^${UNDERSCORE_LABEL}(\\.${UNDERSCORE_LABEL})*$`)
const caselessRe = new RegExp(`^${CASELESS_LABEL}(\\.${CASELESS_LABEL})*$`)
const wildcardRe = new RegExp(`^\\*\\.${SUBDOMAIN}$`)
/** Matches the same texts as the printed form, without its backtracking. */
const qualifiedRe = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/
const cIdentifierRe = /^[A-Za-z_][A-Za-z0-9_]*$/
const percentRe = /^[0-9]+%$/
const headerRe = /^[-A-Za-z0-9]+$/
const configKeyRe = /^[-._a-zA-Z0-9]+$/
const strictEnvRe = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/
const relaxedEnvRe = /^[\x20-\x3c\x3e-\x7e]+$/

export const DNS1123_LABEL_MAX = 63
export const DNS1123_SUBDOMAIN_MAX = 253

const labelText = regexMessage(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  LABEL,
  'my-name',
  '123-abc',
)
const subdomainText = regexMessage(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  SUBDOMAIN,
  'example.com',
)
const underscoreText = regexMessage(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
  `${UNDERSCORE_LABEL}(\\.${UNDERSCORE_LABEL})*`,
  'example.com',
)
const caselessText = regexMessage(
  "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  `${CASELESS_LABEL}(\\.${CASELESS_LABEL})*`,
  'Example.com',
)
const dns1035Text = regexMessage(
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  DNS1035,
  'my-name',
  'abc-123',
)
const wildcardText = regexMessage(
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  `\\*\\.${SUBDOMAIN}`,
  '*.example.com',
)
const qualifiedText = regexMessage(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  QUALIFIED,
  'MyName',
  'my.name',
  '123-abc',
)
const labelValueText = regexMessage(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  `(${QUALIFIED})?`,
  'MyValue',
  'my_value',
  '12345',
)

/** RFC 1123 label: names of Namespaces, StatefulSets, containers, volumes. */
export function isDNS1123Label(value: string): string[] {
  const long = longerThan(value, DNS1123_LABEL_MAX)
  if (labelRe.test(value)) return long ? [maxCharacters(DNS1123_LABEL_MAX)] : NONE
  const errs = long ? [maxCharacters(DNS1123_LABEL_MAX)] : []
  errs.push(subdomainRe.test(value) ? 'must not contain dots' : labelText)
  return errs
}

/** RFC 1123 subdomain: the name rule of most kinds. */
export function isDNS1123Subdomain(value: string): string[] {
  const errs = longerThan(value, DNS1123_SUBDOMAIN_MAX) ? [maxCharacters(DNS1123_SUBDOMAIN_MAX)] : NONE
  return subdomainRe.test(value) ? errs : [...errs, subdomainText]
}

/** As the subdomain rule with `_` allowed: DNS search paths. */
export function isDNS1123SubdomainWithUnderscore(value: string): string[] {
  const errs = longerThan(value, DNS1123_SUBDOMAIN_MAX) ? [maxCharacters(DNS1123_SUBDOMAIN_MAX)] : NONE
  return underscoreRe.test(value) ? errs : [...errs, underscoreText]
}

export function isDNS1123SubdomainCaseless(value: string): string[] {
  const errs = longerThan(value, DNS1123_SUBDOMAIN_MAX) ? [maxCharacters(DNS1123_SUBDOMAIN_MAX)] : NONE
  return caselessRe.test(value) ? errs : [...errs, caselessText]
}

export function isDNS1035Label(value: string): string[] {
  const errs = longerThan(value, DNS1123_LABEL_MAX) ? [maxCharacters(DNS1123_LABEL_MAX)] : NONE
  return dns1035Re.test(value) ? errs : [...errs, dns1035Text]
}

export function isWildcardDNS1123Subdomain(value: string): string[] {
  const errs = longerThan(value, DNS1123_SUBDOMAIN_MAX) ? [maxCharacters(DNS1123_SUBDOMAIN_MAX)] : NONE
  return wildcardRe.test(value) ? errs : [...errs, wildcardText]
}

/** Label keys, annotation keys, finalizers, condition types: `[prefix/]name`. */
export function isQualifiedName(value: string): string[] {
  let name = value
  const errs: string[] = []
  const slash = value.indexOf('/')
  if (slash >= 0) {
    if (value.indexOf('/', slash + 1) >= 0)
      return [`a valid label key ${qualifiedText} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
    const prefix = value.slice(0, slash)
    name = value.slice(slash + 1)
    if (prefix === '') errs.push(`prefix part ${EMPTY_TEXT}`)
    else {
      if (longerThan(prefix, DNS1123_SUBDOMAIN_MAX)) errs.push(`prefix part ${maxBytes(DNS1123_SUBDOMAIN_MAX)}`)
      if (!subdomainRe.test(prefix)) errs.push(`prefix part ${subdomainText}`)
    }
  }
  if (name === '') errs.push(`name part ${EMPTY_TEXT}`)
  else if (longerThan(name, 63)) errs.push(`name part ${maxBytes(63)}`)
  if (!qualifiedRe.test(name)) errs.push(`name part ${qualifiedText}`)
  return errs.length ? errs : NONE
}

export function isLabelValue(value: string): string[] {
  if (value === '') return NONE
  const errs = longerThan(value, 63) ? [maxBytes(63)] : NONE
  return qualifiedRe.test(value) ? errs : [...errs, labelValueText]
}

export function isCIdentifier(value: string): string[] {
  return cIdentifierRe.test(value)
    ? NONE
    : [
        regexMessage(
          "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
          '[A-Za-z_][A-Za-z0-9_]*',
          'my_name',
          'MY_NAME',
          'MyName',
        ),
      ]
}

export function isPortNumber(value: number): string[] {
  return value >= 1 && value <= 65535 ? NONE : [inclusiveRange(1, 65535)]
}

export function isInRange(value: number, low: number, high: number): string[] {
  return value >= low && value <= high ? NONE : [inclusiveRange(low, high)]
}

/** User and group ids. */
export function isIdNumber(value: number): string[] {
  return isInRange(value, 0, 2147483647)
}

/** IANA service names: ports of containers and services. */
export function isPortName(value: string): string[] {
  const errs: string[] = []
  if (longerThan(value, 15)) errs.push(maxCharacters(15))
  if (!/^[-a-z0-9]+$/.test(value)) errs.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)')
  if (!/[a-z]/.test(value)) errs.push('must contain at least one letter (a-z)')
  if (value.includes('--')) errs.push('must not contain consecutive hyphens')
  if (value.startsWith('-') || value.endsWith('-')) errs.push('must not begin or end with a hyphen')
  return errs
}

export function isPercent(value: string): string[] {
  return percentRe.test(value) ? NONE : [regexMessage("a valid percent string must be a numeric string followed by an ending '%'", '[0-9]+%', '1%', '93%')]
}

export function isHTTPHeaderName(value: string): string[] {
  return headerRe.test(value) ? NONE : [regexMessage("a valid HTTP header must consist of alphanumeric characters or '-'", '[-A-Za-z0-9]+', 'X-Header-Name')]
}

/** Names of environment variables as accepted since RelaxedEnvironmentVariableValidation (KEP-4369). */
export function isEnvVarName(value: string): string[] {
  if (value === '') return ['environment variable name must be non-empty']
  return relaxedEnvRe.test(value) ? NONE : ["a valid environment variable name must consist only of printable ASCII characters other than '='"]
}

/** Names of environment variables before KEP-4369. */
export function isStrictEnvVarName(value: string): string[] {
  const errs: string[] = []
  if (!strictEnvRe.test(value)) {
    errs.push(
      regexMessage(
        "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit",
        '[-._a-zA-Z][-._a-zA-Z0-9]*',
        'my.env-name',
        'MY_ENV.NAME',
        'MyEnvName1',
      ),
    )
  }
  return [...errs, ...changesDirectory(value)]
}

/** Keys of ConfigMaps and Secrets: they become file names. */
export function isConfigMapKey(value: string): string[] {
  const errs: string[] = []
  if (longerThan(value, DNS1123_SUBDOMAIN_MAX)) errs.push(maxCharacters(DNS1123_SUBDOMAIN_MAX))
  if (!configKeyRe.test(value)) {
    errs.push(
      regexMessage("a valid config key must consist of alphanumeric characters, '-', '_' or '.'", '[-._a-zA-Z0-9]+', 'key.name', 'KEY_NAME', 'key-name'),
    )
  }
  return [...errs, ...changesDirectory(value)]
}

function changesDirectory(value: string): string[] {
  if (value === '.') return ["must not be '.'"]
  if (value === '..') return ["must not be '..'"]
  return value.startsWith('..') ? ["must not start with '..'"] : NONE
}

/** What every name must obey to be one segment of a URL path. */
export function isPathSegmentName(value: string): string[] {
  if (value === '.') return ["may not be '.'"]
  if (value === '..') return ["may not be '..'"]
  return isPathSegmentPrefix(value)
}

export function isPathSegmentPrefix(value: string): string[] {
  const errs: string[] = []
  if (value.includes('/')) errs.push("may not contain '/'")
  if (value.includes('%')) errs.push("may not contain '%'")
  return errs
}

/** A rule for a name or, when `prefix` is set, for what a generated name starts with. */
export type ObjectNameRule = (name: string, prefix: boolean) => string[]

/** A generated name's prefix may end in `-`: the end is replaced so that the rule sees what could follow. */
export function maskTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name
}

const prefixable =
  (rule: TextRule): ObjectNameRule =>
  (name, prefix) =>
    rule(prefix ? maskTrailingDash(name) : name)

export const nameIsDNSLabel: ObjectNameRule = prefixable(isDNS1123Label)
export const nameIsDNSSubdomain: ObjectNameRule = prefixable(isDNS1123Subdomain)
export const nameIsDNS1035Label: ObjectNameRule = prefixable(isDNS1035Label)
export const nameIsPathSegment: ObjectNameRule = (name, prefix) => (prefix ? isPathSegmentPrefix(name) : isPathSegmentName(name))
export const nameIsAnything: ObjectNameRule = () => NONE

const NAMED: Record<string, ObjectNameRule> = {
  label: nameIsDNSLabel,
  subdomain: nameIsDNSSubdomain,
  dns1035: nameIsDNS1035Label,
  pathSegment: nameIsPathSegment,
  none: nameIsAnything,
}

/** The rule behind a strategy's `nameRule`; a kind without one uses subdomain names. */
export function objectNameRule(rule: 'label' | 'subdomain' | 'pathSegment' | 'dns1035' | 'none' | ObjectNameRule | undefined): ObjectNameRule {
  if (typeof rule === 'function') return rule
  return NAMED[rule ?? 'subdomain'] as ObjectNameRule
}
