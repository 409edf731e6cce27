import { type Message, type Question, Rcode, type ResourceRecord, Type } from '../wire/message.ts'
import { absolute, canonical, isWithin } from '../wire/name.ts'
import { addressRecord, dataText, nameRecord, soaRecord, srvRecord, txtRecord } from '../wire/records.ts'
import type { ClusterView } from './cluster-view.ts'
import { addressType, type Findings, type Found, find, findReverse, nameServers, type ZoneOptions, zoneOf } from './find.ts'
import { addressOfReverse } from './reverse-name.ts'

/** The answer of a zone; `next`: somebody else's to answer. */
export type ZoneAnswer = Pick<Message, 'rcode' | 'answer' | 'authority' | 'additional' | 'truncated'> | 'next'

/** Asks the whole server for another name, as for the target of an external Service; undefined: nobody answers. */
export type Lookup = (name: string, type: number) => Promise<Message | undefined>

/** The version of the naming rules that this follows: "Kubernetes DNS-Based Service Discovery". */
const SPECIFICATION = '1.1.0'
const VERSION_TTL = 28_800
/** CNAMEs that one answer follows. */
const MAX_CHAIN = 8

interface Records {
  readonly answer: readonly ResourceRecord[]
  readonly additional?: readonly ResourceRecord[]
  readonly truncated?: boolean
}

/** Answers a question by what is known of the cluster, as CoreDNS's kubernetes plugin does. */
export async function answerFromCluster(view: ClusterView, o: ZoneOptions, question: Question, lookup: Lookup): Promise<ZoneAnswer> {
  const name = canonical(question.name)
  const zone = zoneOf(o.zones, name)
  if (zone === undefined) return 'next'
  const records = await new Answerer(view, o, zone, lookup).records(question, name)
  // The case in which the question was asked is kept, also for the zone's own name.
  const soa = soaOf(view, o, zone, absolute(question.name).slice(-zone.length))
  if (records === undefined) {
    if (o.fallthrough.some((z) => isWithin(name, z))) return 'next'
    return { rcode: view.synced() ? Rcode.NXDOMAIN : Rcode.SERVFAIL, answer: [], authority: [soa], additional: [], truncated: false }
  }
  const { answer, additional = [], truncated = false } = records
  return { rcode: Rcode.NOERROR, answer, authority: answer.length === 0 ? [soa] : [], additional, truncated }
}

function soaOf(view: ClusterView, o: ZoneOptions, zone: string, owner: string): ResourceRecord {
  return soaRecord(owner, Math.min(300, o.ttl), {
    ns: `ns.dns.${zone}`,
    mailbox: `hostmaster.${zone}`,
    serial: view.serial() >>> 0,
    refresh: 7200,
    retry: 1800,
    expire: 86_400,
    minimum: o.ttl,
  })
}

class Answerer {
  private readonly view: ClusterView
  private readonly o: ZoneOptions
  private readonly zone: string
  private readonly lookup: Lookup

  constructor(view: ClusterView, o: ZoneOptions, zone: string, lookup: Lookup) {
    this.view = view
    this.o = o
    this.zone = zone
    this.lookup = lookup
  }

  /** Undefined: there is no such name. No records: there is, but nothing of that type. */
  async records(q: Question, name: string): Promise<Records | undefined> {
    switch (q.type) {
      case Type.A:
      case Type.AAAA:
        return this.addresses(q.name, q.type, [])
      case Type.TXT:
        return this.text(q.name, name)
      case Type.CNAME: {
        const found = this.find(name)
        const first = found?.[0]
        return found && { answer: first && addressType(first.host) === undefined ? [nameRecord(q.name, Type.CNAME, this.o.ttl, first.host)] : [] }
      }
      case Type.PTR:
        return this.pointers(q.name, name)
      case Type.MX:
        return this.find(name) && { answer: [] }
      case Type.SRV:
        return this.services(q.name, name)
      case Type.SOA:
        // Asked of a name below the zone there is none, and nobody looks whether that name is there.
        return { answer: name === this.zone ? [soaOf(this.view, this.o, this.zone, absolute(q.name))] : [] }
      case Type.NS:
        if (name === this.zone) return this.servers(q.name)
    }
    return (await this.addresses(q.name, Type.A, [])) && { answer: [] }
  }

  private find(name: string): Findings {
    if (name === `ns.dns.${this.zone}`) return nameServers(this.view, this.o, this.zone)
    return find(this.view, this.o, name, this.zone)
  }

  /** @param chain the CNAMEs that led here */
  private async addresses(owner: string, type: number, chain: readonly ResourceRecord[]): Promise<Records | undefined> {
    const found = this.find(canonical(owner))
    if (!found) return undefined
    const answer: ResourceRecord[] = []
    let truncated = false
    const seen = new Set<string>()
    for (const { host } of found) {
      const kind = addressType(host)
      if (kind !== undefined) {
        if (kind !== type || seen.has(host)) continue
        seen.add(host)
        answer.push(addressRecord(owner, this.o.ttl, host) as ResourceRecord)
        continue
      }
      const target = canonical(host)
      if (target === canonical(owner) || chain.length >= MAX_CHAIN || chain.some((r) => canonical(r.data[0] as string) === target)) continue
      const alias = nameRecord(owner, Type.CNAME, this.o.ttl, host)
      if (isWithin(target, this.zone)) {
        const next = await this.addresses(absolute(host), type, [...chain, alias])
        if (next?.answer.length) answer.push(alias, ...next.answer)
        truncated ||= next?.truncated ?? false
      } else {
        const reply = await this.lookup(absolute(host), type)
        if (!reply) continue
        truncated ||= reply.truncated
        answer.push(alias, ...reply.answer)
      }
    }
    return { answer, truncated }
  }

  private text(owner: string, name: string): Records | undefined {
    if (name === `dns-version.${this.zone}`) return { answer: [txtRecord(owner, VERSION_TTL, SPECIFICATION)] }
    return find(this.view, this.o, name, this.zone)?.length ? { answer: [] } : undefined
  }

  private pointers(owner: string, name: string): Records | undefined {
    const address = addressOfReverse(name)
    if (address === undefined) return find(this.view, this.o, name, this.zone) && { answer: [] }
    const names = [...new Set(findReverse(this.view, this.o, address))]
    return names.length > 0 ? { answer: names.map((target) => nameRecord(owner, Type.PTR, this.o.ttl, target)) } : undefined
  }

  private services(owner: string, name: string): Records | undefined {
    const found = this.find(name)
    if (!found) return undefined
    // External Services have no SRV records.
    const own = found.filter((f) => addressType(f.host) !== undefined)
    // The weight is shared by all, whether they are told in one record or in several.
    const weight = Math.max(1, Math.floor(100 / own.length))
    const answer = new Map<string, ResourceRecord>()
    const additional = new Map<string, ResourceRecord>()
    for (const f of own) {
      if (f.port === undefined) continue
      const target = `${f.owner} ${f.port}`
      if (!answer.has(target)) answer.set(target, srvRecord(owner, this.o.ttl, { priority: 0, weight, port: f.port, target: f.owner }))
      this.addAddress(additional, f)
    }
    return { answer: [...answer.values()], additional: [...additional.values()] }
  }

  private servers(owner: string): Records {
    const answer = new Map<string, ResourceRecord>()
    const additional = new Map<string, ResourceRecord>()
    for (const f of nameServers(this.view, this.o, this.zone)) {
      answer.set(f.owner, nameRecord(owner, Type.NS, this.o.ttl, f.owner))
      this.addAddress(additional, f)
    }
    return { answer: [...answer.values()], additional: [...additional.values()] }
  }

  private addAddress(to: Map<string, ResourceRecord>, f: Found): void {
    const record = addressRecord(f.owner, this.o.ttl, f.host)
    if (record) to.set(`${f.owner} ${dataText(record)}`, record)
  }
}
