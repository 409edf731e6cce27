import { readFileSync } from 'node:fs'
import type { MessageTable } from '../../src/kubelet/runtimes/cri/message-codec.ts'

interface Descriptor {
  fields?: Record<string, { type: string; id: number; rule?: string; keyType?: string }>
  values?: Record<string, number>
  methods?: Record<string, { requestType: string; responseType: string; responseStream?: boolean }>
  nested?: Record<string, Descriptor>
}

/** The CRI's messages and enums as one compact table: [field, number, type, repeated]. Maps are 'map'. */
export function criModule(path: string): string {
  const root = JSON.parse(readFileSync(path, 'utf8')).nested.runtime.nested.v1.nested as Record<string, Descriptor>
  const table: MessageTable = { messages: {}, enums: {} }
  const scalars = new Set(['bytes', 'bool', 'int32', 'string', 'uint32', 'uint64', 'int64', 'double'])
  const walk = (prefix: string, all: Record<string, Descriptor>) => {
    for (const [name, d] of Object.entries(all)) {
      const full = prefix ? `${prefix}.${name}` : name
      if (d.values) table.enums[full] = d.values
      if (d.fields) {
        const resolve = (type: string) => (scalars.has(type) ? type : d.nested?.[type] ? `${full}.${type}` : type)
        table.messages[full] = Object.entries(d.fields).map(([field, f]) =>
          f.keyType ? [field, f.id, 'map', resolve(f.type)] : f.rule === 'repeated' ? [field, f.id, resolve(f.type), 1] : [field, f.id, resolve(f.type)],
        )
      }
      if (d.nested) walk(full, d.nested)
    }
  }
  walk('', root)
  const text = JSON.stringify(table).replace(/'/g, "\\'")
  return `
/** Messages and enums of runtime.v1: JSON text of a MessageTable. */
export const criMessages = '${text}'
`
}
