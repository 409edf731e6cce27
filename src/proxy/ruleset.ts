import type { Family } from './address.ts'

/** Sets and maps of the table whose members come from Services and the node. */
export type Container = 'cluster-ips' | 'nodeport-ips' | 'service-ips' | 'service-nodeports' | 'no-endpoint-services' | 'no-endpoint-nodeports' | 'firewall-ips'

export interface Element {
  container: Container
  /** Such as `10.96.0.1 . tcp . 443`. */
  key: string
  /** Verdict of a map's element. */
  verdict?: string
  comment: string
}

/** A part of the table: what one Service adds to it, or what the node does. */
export interface RulePart {
  /** Chain to its rules. */
  readonly chains: ReadonlyMap<string, readonly string[]>
  /** Set of clients to the seconds it remembers them. */
  readonly affinitySets: ReadonlyMap<string, number>
  readonly elements: readonly Element[]
}

/** What the whole table holds, apart from what never changes. */
export interface Ruleset {
  chains: Map<string, readonly string[]>
  affinitySets: Map<string, number>
  /** Container and key, as `service-ips 10.96.0.1 . tcp . 443`, to the element. */
  elements: Map<string, Element>
}

/** Joins parts into one table. Of two Services that claim one address and port the first has it. */
export function joinParts(parts: Iterable<RulePart>): Ruleset {
  const out: Ruleset = { chains: new Map(), affinitySets: new Map(), elements: new Map() }
  for (const part of parts) {
    for (const [name, rules] of part.chains) out.chains.set(name, rules)
    for (const [name, seconds] of part.affinitySets) out.affinitySets.set(name, seconds)
    for (const e of part.elements) {
      const key = `${e.container} ${e.key}`
      if (!out.elements.has(key)) out.elements.set(key, e)
    }
  }
  return out
}

/** Base chains by where they hook into the packet's way. */
const HOOKS: readonly (readonly [chain: string, type: string, hook: string, priority: string])[] = [
  ['filter-prerouting-pre-dnat', 'filter', 'prerouting', '-110'],
  ['filter-output-pre-dnat', 'filter', 'output', '-110'],
  ['filter-input', 'filter', 'input', '0'],
  ['filter-forward', 'filter', 'forward', '0'],
  ['filter-output', 'filter', 'output', '0'],
  ['nat-prerouting', 'nat', 'prerouting', '-100'],
  ['nat-output', 'nat', 'output', '-100'],
  ['nat-postrouting', 'nat', 'postrouting', '100'],
]
const BASE_CHAINS: ReadonlySet<string> = new Set(HOOKS.map(([chain]) => chain))

/** A transaction of moderate size: the kernel's and nft's time grows faster than the rules do. */
const CHAINS_PER_TRANSACTION = 4000
const ELEMENTS_PER_LINE = 200

export const tableOf = (family: Family): string => `${family === 'IPv4' ? 'ip' : 'ip6'} kube-proxy`

/** Takes the table away; no failure when there is none. */
export const deleteTable = (family: Family): string => `add table ${tableOf(family)}\ndelete table ${tableOf(family)}\n`

/** Sets, maps and base chains: what is in the table whatever the Services. */
function skeleton(family: Family): string {
  const address = family === 'IPv4' ? 'ipv4_addr' : 'ipv6_addr'
  const t = tableOf(family)
  const map = (name: Container, type: string, comment: string) => `add map ${t} ${name} { type ${type} : verdict ; comment "${comment}" ; }\n`
  return `add table ${t} { comment "rules for kube-proxy" ; }
add set ${t} cluster-ips { type ${address} ; comment "Active ClusterIPs" ; }
add set ${t} nodeport-ips { type ${address} ; comment "IPs that accept NodePort traffic" ; }
${map('firewall-ips', `${address} . inet_proto . inet_service`, 'destinations that are subject to LoadBalancerSourceRanges')}${map(
  'no-endpoint-services',
  `${address} . inet_proto . inet_service`,
  'vmap to drop or reject packets to services with no endpoints',
)}${map('no-endpoint-nodeports', 'inet_proto . inet_service', 'vmap to drop or reject packets to service nodeports with no endpoints')}${map(
  'service-ips',
  `${address} . inet_proto . inet_service`,
  'ClusterIP, ExternalIP and LoadBalancer IP traffic',
)}${map('service-nodeports', 'inet_proto . inet_service', 'NodePort traffic')}${HOOKS.map(
  ([chain, type, hook, priority]) => `add chain ${t} ${chain} { type ${type} hook ${hook} priority ${priority} ; }\n`,
).join('')}`
}

/**
 * The table from nothing, in one transaction, or several for very many Services: then each later one completes some Services.
 * @param fresh the table is made anew, whatever there is; else it is known to be there and only its content is written again
 */
export function fullText(family: Family, rules: Ruleset): string[] {
  const empty: Ruleset = { chains: new Map(), affinitySets: new Map(), elements: new Map() }
  const head = `${deleteTable(family)}${skeleton(family)}`
  const names = [...rules.chains.keys()]
  if (names.length <= CHAINS_PER_TRANSACTION) return [head + changeText(family, empty, rules).apply]
  const out: string[] = []
  let before = empty
  for (let end = CHAINS_PER_TRANSACTION; ; end += CHAINS_PER_TRANSACTION) {
    const last = end >= names.length
    const complete = new Map(names.slice(0, end).map((n) => [n, rules.chains.get(n) as readonly string[]]))
    // A rule may name a chain of a later part: it goes with that part, and so does what leads to it.
    for (let size = -1; !last && size !== complete.size; ) {
      size = complete.size
      for (const [name, list] of complete) if (!targets(list).every((t) => complete.has(t))) complete.delete(name)
    }
    const ready = (e: Element) => last || !e.verdict || targets([e.verdict]).every((t) => complete.has(t))
    const now: Ruleset = { chains: complete, affinitySets: rules.affinitySets, elements: new Map([...rules.elements].filter(([, e]) => ready(e))) }
    out.push((out.length === 0 ? head : '') + changeText(family, before, now).apply)
    if (last) return out
    before = now
  }
}

function targets(rules: readonly string[]): string[] {
  return rules.flatMap((r) => [...r.matchAll(/\b(?:goto|jump) ([^\s,}]+)/g)].map((m) => m[1] as string))
}

export interface Change {
  /** '' when nothing changes. */
  apply: string
  /** Removes chains and sets that nothing uses any more. Kernels of some age refuse that in the transaction that ends their use. */
  cleanup: string
}

/** What leads from one content of the table to another. */
export function changeText(family: Family, before: Ruleset, after: Ruleset): Change {
  const t = tableOf(family)
  const declare: string[] = []
  const fill: string[] = []
  const drop: string[] = []
  const cleanup: string[] = []
  for (const [name, seconds] of after.affinitySets)
    if (!before.affinitySets.has(name))
      declare.push(`add set ${t} ${name} { type ${family === 'IPv4' ? 'ipv4_addr' : 'ipv6_addr'} ; flags dynamic,timeout ; timeout ${seconds}s ; }`)
  for (const [name, rules] of after.chains) {
    const had = before.chains.get(name)
    if (had && same(had, rules)) continue
    if (!had && !BASE_CHAINS.has(name)) declare.push(`add chain ${t} ${name}`)
    if (had) fill.push(`flush chain ${t} ${name}`)
    for (const rule of rules) fill.push(`add rule ${t} ${name} ${rule}`)
  }
  const removed = new Map<Container, string[]>()
  const added = new Map<Container, string[]>()
  const note = (to: Map<Container, string[]>, container: Container, text: string) => {
    const list = to.get(container)
    if (list) list.push(text)
    else to.set(container, [text])
  }
  for (const [key, e] of before.elements) {
    const now = after.elements.get(key)
    if (!now || !sameElement(e, now)) note(removed, e.container, e.key)
  }
  for (const [key, e] of after.elements) {
    const had = before.elements.get(key)
    if (!had || !sameElement(had, e)) note(added, e.container, `${e.key} comment "${e.comment}"${e.verdict ? ` : ${e.verdict}` : ''}`)
  }
  for (const [container, list] of removed) fill.push(...elementLines('delete', t, container, list))
  for (const [container, list] of added) fill.push(...elementLines('add', t, container, list))
  for (const name of before.chains.keys()) {
    if (after.chains.has(name)) continue
    drop.push(`flush chain ${t} ${name}`)
    cleanup.push(`delete chain ${t} ${name}`)
  }
  for (const name of before.affinitySets.keys()) if (!after.affinitySets.has(name)) cleanup.push(`delete set ${t} ${name}`)
  return { apply: lines([...declare, ...fill, ...drop]), cleanup: lines(cleanup) }
}

const lines = (list: readonly string[]): string => (list.length === 0 ? '' : `${list.join('\n')}\n`)
const same = (a: readonly string[], b: readonly string[]): boolean => a === b || (a.length === b.length && a.every((x, i) => x === b[i]))
const sameElement = (a: Element, b: Element): boolean => a === b || (a.verdict === b.verdict && a.comment === b.comment)

function elementLines(verb: 'add' | 'delete', t: string, container: Container, list: readonly string[]): string[] {
  const out: string[] = []
  for (let i = 0; i < list.length; i += ELEMENTS_PER_LINE) out.push(`${verb} element ${t} ${container} { ${list.slice(i, i + ELEMENTS_PER_LINE).join(', ')} }`)
  return out
}
