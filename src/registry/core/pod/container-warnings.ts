import type { Container, ContainerPort, EnvVar, EphemeralContainer, PodSpec } from '../../../api/core/v1/types.generated.ts'
import type { FieldPath } from '../../../apimachinery/field.ts'
import { quote } from '../../../apimachinery/quote.ts'
import { parseAmount } from '../../../component-helpers/amounts.ts'
import { isSidecar } from '../../../component-helpers/pod-conditions.ts'

type AnyContainer = Container | EphemeralContainer

/** Every container with its path: init, main, ephemeral. */
function everyContainer(spec: PodSpec, path: FieldPath): [AnyContainer, FieldPath][] {
  const list = (name: 'initContainers' | 'containers' | 'ephemeralContainers'): [AnyContainer, FieldPath][] =>
    (spec[name] ?? []).map((c: AnyContainer, i: number) => [c, path.child(name).index(i)])
  return [...list('initContainers'), ...list('containers'), ...list('ephemeralContainers')]
}

function envWarnings(env: readonly EnvVar[] | undefined, path: FieldPath): string[] {
  const out: string[] = []
  const seen = new Set<string>()
  env?.forEach((variable, i) => {
    if (seen.has(variable.name) && !(variable.value ?? '').includes(`$(${variable.name})`)) {
      out.push(`${path.index(i)}: hides previous definition of ${quote(variable.name)}, which may be dropped when using apply`)
    }
    seen.add(variable.name)
  })
  return out
}

export function containerWarnings(spec: PodSpec, path: FieldPath): string[] {
  return everyContainer(spec, path).flatMap(([container, at]) => {
    const out: string[] = []
    for (const kind of ['limits', 'requests'] as const) {
      for (const name of ['memory', 'ephemeral-storage']) {
        const quantity = container.resources?.[kind]?.[name]
        if (quantity === undefined || parseAmount(quantity).isInteger) continue
        out.push(`${at.child('resources', kind).key(name)}: fractional byte value ${quote(quantity)} is invalid, must be an integer`)
      }
    }
    return [...out, ...envWarnings(container.env, at.child('env'))]
  })
}

interface Seen {
  port: ContainerPort
  path: FieldPath
}

const isAny = (ip: string | undefined): boolean => ip === undefined || ip === '' || ip === '0.0.0.0' || ip === '::'

function relation(a: ContainerPort, b: ContainerPort): 'duplicate' | 'overlapping' | 'dangerously ambiguous' | undefined {
  if (a.containerPort !== b.containerPort || (a.protocol ?? 'TCP') !== (b.protocol ?? 'TCP')) return undefined
  const hostA = a.hostPort ?? 0
  const hostB = b.hostPort ?? 0
  if (hostA !== hostB) return hostA === 0 || hostB === 0 ? 'dangerously ambiguous' : undefined
  if ((a.hostIP ?? '') === (b.hostIP ?? '')) return 'duplicate'
  return isAny(a.hostIP) || isAny(b.hostIP) ? 'overlapping' : undefined
}

/** Ports of containers that run at the same time and say the same thing. */
export function portWarnings(spec: PodSpec, path: FieldPath): string[] {
  const out: string[] = []
  const seen: Seen[] = []
  const names = new Map<string, FieldPath>()
  for (const [container, at] of everyContainer(
    { ...spec, initContainers: (spec.initContainers ?? []).map((c) => (isSidecar(c) ? c : { ...c, ports: [] })) },
    path,
  )) {
    container.ports?.forEach((port, i) => {
      const own = at.child('ports').index(i)
      for (const other of seen) {
        const how = relation(port, other.port)
        if (!how) continue
        out.push(`${own}: ${how} port definition with ${other.path}`)
        break
      }
      seen.push({ port, path: own })
      if (port.hostIP && !port.hostPort) {
        out.push(
          `${own}: hostIP set without hostPort: {Name:${port.name ?? ''} HostPort:0 ContainerPort:${port.containerPort} Protocol:${port.protocol ?? ''} HostIP:${port.hostIP}}`,
        )
      }
      if (!port.name) return
      const first = names.get(port.name)
      if (first)
        out.push(`${own.child('name')}: duplicate port name ${quote(port.name)} with ${first}, services and probes that select ports by name will use ${first}`)
      else names.set(port.name, own.child('name'))
    })
  }
  return out
}
