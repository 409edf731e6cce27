import { promises as fs } from 'node:fs'
import type { Pod } from '../../api/core/v1/types.generated.ts'
import type { EventRecorder } from '../../client/record/event-recorder.ts'
import { format, namespaceOf, podReference } from '../pods/pod.ts'

export interface DnsConfig {
  servers: string[]
  searches: string[]
  options: string[]
}

export interface DnsOptions {
  clusterDNS: readonly string[]
  clusterDomain: string
  /** The host's file; '' for none. */
  resolvConf: string
  recorder: EventRecorder
}

const MAX_SERVERS = 3
const MAX_SEARCHES = 32
const MAX_SEARCH_LENGTH = 2048

/** What a Pod's resolv.conf holds, by its DNS policy. */
export async function dnsFor(pod: Pod, o: DnsOptions): Promise<DnsConfig> {
  let policy = pod.spec.dnsPolicy ?? 'ClusterFirst'
  if (policy === 'ClusterFirst' && pod.spec.hostNetwork) policy = 'Default'
  const clusterFirst = policy === 'ClusterFirst' || policy === 'ClusterFirstWithHostNet'
  let dns: DnsConfig
  if (policy === 'None') dns = { servers: [], searches: [], options: [] }
  else {
    const host = await hostDns(o.resolvConf)
    if (clusterFirst && o.clusterDNS.length > 0) {
      const domain = o.clusterDomain
      dns = {
        servers: [...o.clusterDNS],
        searches: unique([...(domain ? [`${namespaceOf(pod)}.svc.${domain}`, `svc.${domain}`, domain] : []), ...host.searches]),
        options: ['ndots:5'],
      }
    } else {
      if (clusterFirst) {
        o.recorder.event(
          podReference(pod),
          'Warning',
          'MissingClusterDNS',
          `pod: ${JSON.stringify(format(pod))}. kubelet does not have ClusterDNS IP configured and cannot create Pod using "${policy}" policy. Falling back to "Default" policy.`,
        )
      }
      dns = host
    }
  }
  const extra = pod.spec.dnsConfig
  if (extra) {
    const options = new Map(dns.options.map((x) => [x.split(':')[0] as string, x]))
    for (const { name = '', value } of extra.options ?? []) options.set(name, value === undefined || value === '' ? name : `${name}:${value}`)
    dns = {
      servers: unique([...dns.servers, ...(extra.nameservers ?? [])]),
      searches: unique([...dns.searches, ...(extra.searches ?? [])]),
      options: [...options.values()],
    }
  }
  return limit(pod, dns, o.recorder)
}

function limit(pod: Pod, dns: DnsConfig, recorder: EventRecorder): DnsConfig {
  const servers = dns.servers.slice(0, MAX_SERVERS)
  if (servers.length < dns.servers.length) {
    recorder.event(
      podReference(pod),
      'Warning',
      'DNSConfigForming',
      `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${servers.join(' ')}`,
    )
  }
  const searches: string[] = []
  let length = 0
  for (const s of dns.searches) {
    if (searches.length >= MAX_SEARCHES || s.length > 253 || length + s.length + 1 > MAX_SEARCH_LENGTH) break
    searches.push(s)
    length += s.length + 1
  }
  if (searches.length < dns.searches.length) {
    recorder.event(
      podReference(pod),
      'Warning',
      'DNSConfigForming',
      `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.join(' ')}`,
    )
  }
  return { servers, searches, options: dns.options }
}

const unique = (list: string[]): string[] => [...new Set(list)]

async function hostDns(path: string): Promise<DnsConfig> {
  if (path === '') return { servers: ['127.0.0.1'], searches: ['.'], options: [] }
  const text = await fs.readFile(path, 'utf8').catch(() => '')
  return parseResolvConf(text)
}

export function parseResolvConf(text: string): DnsConfig {
  const servers: string[] = []
  let searches: string[] = []
  const options = new Map<string, string>()
  for (const line of text.split('\n')) {
    const [word, ...rest] = line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/)
    if (word === 'nameserver' && rest[0]) servers.push(rest[0])
    else if (word === 'search') searches = rest.map((s) => s.replace(/\.$/, '')).filter((s) => s !== '')
    else if (word === 'options') for (const x of rest) options.set(x.split(':')[0] as string, x)
  }
  return { servers, searches, options: [...options.values()] }
}
