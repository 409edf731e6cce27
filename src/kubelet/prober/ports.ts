import type { AnyContainer } from '../pods/pod.ts'

/** A port by number or by the name of one of the container's ports. */
export function resolvePort(port: number | string, container: Pick<AnyContainer, 'ports'>): number {
  const number =
    typeof port === 'number' ? port : (container.ports?.find((p) => p.name === port)?.containerPort ?? (/^\d{1,5}$/.test(port) ? Number(port) : undefined))
  if (number === undefined) throw new Error(`couldn't find port: ${String(port)}`)
  if (number < 1 || number > 65_535) throw new Error(`invalid port number: ${number}`)
  return number
}
