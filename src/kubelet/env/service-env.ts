import type { Service } from '../../api/core/v1/types.generated.ts'

const upper = (name: string): string => name.toUpperCase().replaceAll('-', '_')
const joinHostPort = (ip: string, port: number): string => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)

/** The variables by which containers find Services: those of the Pod's namespace, and always `default/kubernetes`. */
export function serviceVariables(services: readonly Service[], namespace: string, links: boolean): Map<string, string> {
  const chosen = new Map<string, Service>()
  for (const s of services) {
    const { clusterIP } = s.spec
    if (!clusterIP || clusterIP === 'None') continue
    const isMaster = s.metadata.namespace === 'default' && s.metadata.name === 'kubernetes'
    const own = s.metadata.namespace === namespace
    if (own ? links || isMaster : isMaster && !chosen.has('kubernetes')) chosen.set(s.metadata.name ?? '', s)
  }
  const out = new Map<string, string>()
  for (const [name, s] of [...chosen].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const key = upper(name)
    const ip = s.spec.clusterIP as string
    const ports = s.spec.ports ?? []
    const [first] = ports
    if (!first) continue
    out.set(`${key}_SERVICE_HOST`, ip)
    out.set(`${key}_SERVICE_PORT`, String(first.port))
    for (const p of ports) if (p.name) out.set(`${key}_SERVICE_PORT_${upper(p.name)}`, String(p.port))
    ports.forEach((p, i) => {
      const protocol = p.protocol ?? 'TCP'
      const url = `${protocol.toLowerCase()}://${joinHostPort(ip, p.port)}`
      if (i === 0) out.set(`${key}_PORT`, url)
      const prefix = `${key}_PORT_${p.port}_${protocol.toUpperCase()}`
      out.set(prefix, url)
      out.set(`${prefix}_PROTO`, protocol.toLowerCase())
      out.set(`${prefix}_PORT`, String(p.port))
      out.set(`${prefix}_ADDR`, ip)
    })
  }
  return out
}
