import type { HostAlias, PodDNSConfig } from '../../../../api/core/v1/types.generated.ts'
import { type ErrorList, type FieldPath, invalid, notSupported, required } from '../../../../apimachinery/field.ts'
import { isDNS1123Subdomain, isDNS1123SubdomainWithUnderscore, validateLegacyIP } from '../../../../apimachinery/validation/index.ts'

const MAX_NAMESERVERS = 3
const MAX_SEARCH_PATHS = 32
const MAX_SEARCH_CHARACTERS = 2048

const POLICIES = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']

export function validateDNSPolicy(policy: string | undefined, path: FieldPath): ErrorList {
  if (!policy) return [required(path)]
  return POLICIES.includes(policy) ? [] : [notSupported(path, policy, POLICIES)]
}

export function validateDNSConfig(config: PodDNSConfig | undefined, policy: string | undefined, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  if (policy === 'None') {
    if (!config) return [required(path, 'must provide `dnsConfig` when `dnsPolicy` is None')]
    if (!config.nameservers?.length) errs.push(required(path.child('nameservers'), 'must provide at least one DNS nameserver when `dnsPolicy` is None'))
  }
  if (!config) return errs
  const { nameservers = [], searches = [] } = config
  if (nameservers.length > MAX_NAMESERVERS) {
    errs.push(invalid(path.child('nameservers'), nameservers, `must not have more than ${MAX_NAMESERVERS} nameservers`))
  }
  nameservers.forEach((ns, i) => {
    errs.push(...validateLegacyIP(ns, path.child('nameservers').index(i)))
  })
  if (searches.length > MAX_SEARCH_PATHS) errs.push(invalid(path.child('searches'), searches, `must not have more than ${MAX_SEARCH_PATHS} search paths`))
  if (searches.join(' ').length > MAX_SEARCH_CHARACTERS) {
    errs.push(invalid(path.child('searches'), searches, `must not have more than ${MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list`))
  }
  searches.forEach((search, i) => {
    if (search === '.') return
    const name = search.endsWith('.') ? search.slice(0, -1) : search
    for (const m of isDNS1123SubdomainWithUnderscore(name)) errs.push(invalid(path.child('searches').index(i), name, m))
  })
  config.options?.forEach((option, i) => {
    if (!option.name) errs.push(required(path.child('options').index(i), 'must not be empty'))
  })
  return errs
}

/** @param old aliases already stored may keep an old spelling of their address */
export function validateHostAliases(aliases: readonly HostAlias[] | undefined, path: FieldPath, old?: readonly HostAlias[]): ErrorList {
  const errs: ErrorList = []
  const known = (old ?? []).map((a) => a.ip)
  aliases?.forEach((alias, i) => {
    errs.push(...validateLegacyIP(alias.ip ?? '', path.index(i).child('ip'), known))
    alias.hostnames?.forEach((name, j) => {
      for (const m of isDNS1123Subdomain(name)) errs.push(invalid(path.index(i).child('hostnames').index(j), name, m))
    })
  })
  return errs
}
