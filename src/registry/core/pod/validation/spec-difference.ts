import type { PodSpec } from '../../../../api/core/v1/types.generated.ts'
import { builtinTypes } from '../../../../api/types.ts'
import type { FieldSchema, Schema } from '../../../../apimachinery/schema/schema.ts'

const CONTEXT = 3

/** Fields whose Go name is no more than their JSON name with a capital. */
const GO_NAMES: Readonly<Record<string, string>> = {
  tty: 'TTY',
  ip: 'IP',
  uid: 'UID',
  nfs: 'NFS',
  iscsi: 'ISCSI',
  rbd: 'RBD',
  csi: 'CSI',
  fc: 'FC',
  httpGet: 'HTTPGet',
  tcpSocket: 'TCPSocket',
  grpc: 'GRPC',
  dnsPolicy: 'DNSPolicy',
  dnsConfig: 'DNSConfig',
  awsElasticBlockStore: 'AWSElasticBlockStore',
  gcePersistentDisk: 'GCEPersistentDisk',
  os: 'OS',
  httpHeaders: 'HTTPHeaders',
  cephfs: 'CephFS',
  storageos: 'StorageOS',
}

/** Types of the API machinery have no internal form: they print as in JSON. */
const PLAIN = 'k8s.io/apimachinery/'

const goName = (name: string): string => GO_NAMES[name] ?? `${name[0]?.toUpperCase()}${name.slice(1)}`

/** The value with every field of its type, absent ones as Go prints their zero. */
function full(value: unknown, schema: Schema): unknown {
  if (value === undefined || value === null) return null
  switch (schema.kind) {
    case 'struct': {
      if (schema.name.startsWith(PLAIN)) return value
      const source = value as Record<string, unknown>
      return Object.fromEntries(schema.fields.map((f) => [goName(f.name), fullField(source[f.name], f)]))
    }
    case 'list':
      return (value as unknown[]).map((v) => full(v, schema.elem))
    case 'map': {
      const source = value as Record<string, unknown>
      return Object.fromEntries(
        Object.keys(source)
          .sort()
          .map((k) => [k, full(source[k], schema.elem)]),
      )
    }
    default:
      return value
  }
}

function fullField(value: unknown, field: FieldSchema): unknown {
  if (value !== undefined && value !== null) return full(value, field.schema)
  if (field.pointer) return null
  switch (field.schema.kind) {
    case 'struct':
      return full({}, field.schema)
    case 'scalar':
      return field.schema.scalar === 'bool'
        ? false
        : field.schema.scalar === 'int32' || field.schema.scalar === 'int64'
          ? 0
          : field.schema.scalar === 'quantity'
            ? '0'
            : ''
    default:
      return null
  }
}

const lines = (value: object, type: string): string[] => JSON.stringify(full(value, builtinTypes.structType(`k8s.io/api/core/v1.${type}`)), null, 1).split('\n')

export const podSpecDifference = (before: PodSpec, after: PodSpec): string => specDifference('PodSpec', before, after)

/** What differs between two values of a core type, as a unified diff of their printed form: one hunk around all differences. */
export function specDifference(type: string, before: object, after: object): string {
  const a = lines(before, type)
  const b = lines(after, type)
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  const start = Math.max(0, head - CONTEXT)
  const endA = Math.min(a.length, a.length - tail + CONTEXT)
  const endB = Math.min(b.length, b.length - tail + CONTEXT)
  const out = [`@@ -${start + 1},${endA - start} +${start + 1},${endB - start} @@`]
  for (const line of a.slice(start, head)) out.push(` ${line}`)
  for (const line of a.slice(head, a.length - tail)) out.push(`-${line}`)
  for (const line of b.slice(head, b.length - tail)) out.push(`+${line}`)
  for (const line of a.slice(a.length - tail, endA)) out.push(` ${line}`)
  return `${out.join('\n')}\n`
}
