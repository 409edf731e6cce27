import type { HostsConfig } from '../corefile/config.ts'
import { addressOfReverse } from '../kubernetes/reverse-name.ts'
import { Rcode, type ResourceRecord, replyTo, Type } from '../wire/message.ts'
import { canonical, isWithin } from '../wire/name.ts'
import { addressBytes, addressRecord, nameRecord } from '../wire/records.ts'
import type { Plugin } from './handler.ts'

/** Names and addresses of files in the form of /etc/hosts. */
export interface HostsTable {
  readonly addresses: ReadonlyMap<string, readonly string[]>
  readonly names: ReadonlyMap<string, readonly string[]>
}

const MAX_ENTRIES = 100_000

export function parseHosts(text: string): HostsTable {
  const addresses = new Map<string, string[]>()
  const names = new Map<string, string[]>()
  const add = (map: Map<string, string[]>, key: string, value: string) => {
    const list = map.get(key)
    if (!list) map.set(key, [value])
    else if (!list.includes(value)) list.push(value)
  }
  let entries = 0
  for (const line of text.split('\n')) {
    const [address = '', ...words] = line.replace(/#.*$/, '').trim().split(/\s+/)
    const bytes = addressBytes(address)
    if (!bytes) continue
    for (const word of words) {
      if (++entries > MAX_ENTRIES) return { addresses, names }
      add(addresses, canonical(word), address)
      add(names, bytes.join('.'), canonical(word))
    }
  }
  return { addresses, names }
}

/** Answers from a table that may change between questions. */
export function hostsPlugin(config: HostsConfig, table: () => HostsTable): Plugin {
  const inline = parseHosts(config.inline.join('\n'))
  const both = (pick: (t: HostsTable) => readonly string[] | undefined) => [...new Set([...(pick(table()) ?? []), ...(pick(inline) ?? [])])]
  return (next) => async (query) => {
    const { question: q, name } = query
    const reverse = q.type === Type.PTR ? addressOfReverse(name) : undefined
    if (reverse !== undefined && config.reverse) {
      const names = both((t) => t.names.get(addressBytes(reverse)?.join('.') ?? ''))
      if (names.length > 0) return replyTo(query.message, { authoritative: true, answer: names.map((n) => nameRecord(q.name, Type.PTR, config.ttl, n)) })
    }
    if (!config.zones.some((zone) => isWithin(name, zone)) || q.type === Type.PTR) return next(query)
    const known = both((t) => t.addresses.get(name))
    const answer = known.map((address) => addressRecord(q.name, config.ttl, address)).filter((r): r is ResourceRecord => r !== undefined && r.type === q.type)
    if (answer.length > 0) return replyTo(query.message, { authoritative: true, answer })
    if (config.fallthrough.some((zone) => isWithin(name, zone))) return next(query)
    if (known.length > 0) return replyTo(query.message, { authoritative: true })
    return replyTo(query.message, { authoritative: true, rcode: Rcode.NXDOMAIN })
  }
}
