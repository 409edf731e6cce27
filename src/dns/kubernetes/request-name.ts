import { labelsOf } from '../wire/name.ts'

/** What a name below a cluster's zone asks for; every part may be missing. */
export interface RequestName {
  readonly kind?: 'svc' | 'pod'
  readonly namespace?: string
  /** The Service; below `pod` the Pod's address with dashes. */
  readonly name?: string
  readonly endpoint?: string
  readonly port?: string
  readonly protocol?: string
}

/**
 * The parts of a canonical name within a zone: `[endpoint | _port._protocol] . name . namespace . svc|pod`. Underscores may be left out.
 * Undefined for a name that this zone cannot have.
 */
export function parseRequestName(name: string, zone: string): RequestName | undefined {
  const labels = labelsOf(name)
  const own = labels.slice(0, labels.length - labelsOf(zone).length)
  if (own.length === 0) return {}
  const kind = own.pop()
  if (kind !== 'svc' && kind !== 'pod') return undefined
  const namespace = own.pop()
  if (namespace === undefined) return {}
  const service = own.pop()
  if (service === undefined) return { kind, namespace }
  const base = { kind, namespace, name: service } as const
  const [first, second] = own
  switch (own.length) {
    case 0:
      return base
    case 1:
      return { ...base, endpoint: first as string }
    case 2:
      return { ...base, port: bare(first as string), protocol: bare(second as string) }
    default:
      return undefined
  }
}

const bare = (label: string): string => (label.startsWith('_') ? label.slice(1) : label)
