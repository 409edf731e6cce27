import type { rbacv1 } from '../../../api/index.ts'
import { quote } from '../../../apimachinery/quote.ts'
import type { Attributes } from '../../../apiserver/authorization/authorizer.ts'
import { deepEqual } from '../../../base/deep-freeze.ts'

export type PolicyRule = rbacv1.PolicyRule

const has = (list: readonly string[] | undefined, value: string) => list?.includes(value) ?? false

/** Whether one rule allows a request. */
export function ruleAllows(rule: PolicyRule, request: Attributes): boolean {
  if (!has(rule.verbs, '*') && !has(rule.verbs, request.verb)) return false
  if (!request.resourceRequest) return pathMatches(rule.nonResourceURLs, request.path)
  return (
    (has(rule.apiGroups, '*') || has(rule.apiGroups, request.apiGroup)) &&
    resourceMatches(rule.resources, request.resource, request.subresource) &&
    (!rule.resourceNames?.length || rule.resourceNames.includes(request.name))
  )
}

/** `*` is everything, `pods/exec` the subresource, `*` + `/scale` the subresource of all resources. */
function resourceMatches(list: readonly string[] | undefined, resource: string, subresource: string): boolean {
  if (!list) return false
  const combined = subresource === '' ? resource : `${resource}/${subresource}`
  for (const entry of list) {
    if (entry === '*' || entry === combined) return true
    if (subresource !== '' && entry.length === subresource.length + 2 && entry.startsWith('*/') && entry.endsWith(subresource)) return true
  }
  return false
}

function pathMatches(urls: readonly string[] | undefined, path: string): boolean {
  if (!urls) return false
  for (const url of urls) {
    if (url === '*' || url === path) return true
    if (url.endsWith('*') && path.startsWith(withoutStars(url))) return true
  }
  return false
}

function withoutStars(url: string): string {
  let end = url.length
  while (end > 0 && url[end - 1] === '*') end--
  return url.slice(0, end)
}

/** The smallest rules a rule is made of: one verb, one group and resource and name, or one path, each. */
export function breakdown(rule: PolicyRule): PolicyRule[] {
  const out: PolicyRule[] = []
  for (const apiGroup of rule.apiGroups ?? []) {
    for (const resource of rule.resources ?? []) {
      for (const verb of rule.verbs ?? []) {
        const one = { apiGroups: [apiGroup], resources: [resource], verbs: [verb] }
        if (rule.resourceNames?.length) for (const name of rule.resourceNames) out.push({ ...one, resourceNames: [name] })
        else out.push(one)
      }
    }
  }
  for (const url of rule.nonResourceURLs ?? []) for (const verb of rule.verbs ?? []) out.push({ nonResourceURLs: [url], verbs: [verb] })
  return out
}

/** Whether the owner's rules cover all of the servant's; and what they leave out, in smallest rules. */
export function covers(owner: readonly PolicyRule[], servant: readonly PolicyRule[]): { covered: boolean; missing: PolicyRule[] } {
  const missing: PolicyRule[] = []
  for (const rule of servant) {
    // Mostly the owner has the very rule, which is faster to see than to take apart.
    if (owner.some((o) => deepEqual(o, rule))) continue
    for (const one of breakdown(rule)) if (!owner.some((o) => ruleCovers(o, one))) missing.push(one)
  }
  return { covered: missing.length === 0, missing }
}

function ruleCovers(owner: PolicyRule, one: PolicyRule): boolean {
  if (!has(owner.verbs, '*') && !one.verbs.every((v) => has(owner.verbs, v))) return false
  if (one.nonResourceURLs?.length) return one.nonResourceURLs.every((url) => pathMatches(owner.nonResourceURLs, url))
  if (!has(owner.apiGroups, '*') && !(one.apiGroups ?? []).every((g) => has(owner.apiGroups, g))) return false
  if (!(one.resources ?? []).every((r) => resourceCovered(owner.resources, r))) return false
  if (!owner.resourceNames?.length) return true
  return (one.resourceNames?.length ?? 0) > 0 && (one.resourceNames as string[]).every((n) => has(owner.resourceNames, n))
}

function resourceCovered(list: readonly string[] | undefined, resource: string): boolean {
  if (has(list, '*') || has(list, resource)) return true
  const slash = resource.indexOf('/')
  return slash >= 0 && has(list, `*${resource.slice(slash)}`)
}

/** Joins smallest resource rules that differ in their verbs alone, as they are shown in refusals. */
export function compactRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const bySubject = new Map<string, PolicyRule>()
  for (const [i, rule] of rules.entries()) {
    const key = rule.nonResourceURLs ? String(i) : JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames])
    const same = bySubject.get(key)
    if (same) same.verbs = [...new Set([...same.verbs, ...rule.verbs])]
    else bySubject.set(key, { ...rule, verbs: [...rule.verbs] })
  }
  return [...bySubject.values()]
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}` */
export function ruleText(rule: PolicyRule): string {
  const list = (name: string, values: readonly string[] | undefined) => (values?.length ? [`${name}:[${values.map(quote).join(' ')}]`] : [])
  return `{${[
    ...list('APIGroups', rule.apiGroups),
    ...list('Resources', rule.resources),
    ...list('NonResourceURLs', rule.nonResourceURLs),
    ...list('ResourceNames', rule.resourceNames),
    ...list('Verbs', rule.verbs),
  ].join(', ')}}`
}
