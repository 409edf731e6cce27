import http from 'node:http'
import https from 'node:https'
import { type corev1, resources } from '../../../api/index.ts'
import { newNotFound, newServiceUnavailable } from '../../../apimachinery/errors.ts'
import { FieldPath } from '../../../apimachinery/field.ts'
import { validateNonSpecialIP } from '../../../apimachinery/validation/ip.ts'
import type { ConnectCall, ConnectHandler } from '../../../apiserver/endpoints/endpoint.ts'
import type { ApiResponse } from '../../../apiserver/request/api-request.ts'
import type { Random } from '../../../base/index.ts'
import type { Client } from '../../../client/client.ts'

/** Headers of one connection, and those that say who the caller is. */
const DROPPED = new Set(['host', 'authorization', 'connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'content-length'])
const SERVICES = { group: '', resource: 'services' }

interface Target {
  scheme: 'http' | 'https'
  host: string
  port: number
}

/** `services/proxy`: a request goes on to one of the Service's ready endpoints. */
export function serviceProxy(client: Client, random: Random): ConnectHandler {
  return {
    async connect(call) {
      const { request } = call.context
      const target = await resolve(client, random, call.namespace, call.name)
      if (call.path === '' && (request.method === 'GET' || request.method === 'HEAD'))
        return { status: 301, headers: { location: `${request.path}/${request.query ? `?${request.query}` : ''}` } }
      return forward(call, target)
    },
  }
}

/** @param name `[scheme:]name[:port]`, the port by name or number */
async function resolve(client: Client, random: Random, namespace: string, name: string): Promise<Target> {
  const { scheme, service: bare, port } = splitName(name)
  const service = await client.resource(resources.corev1.services).namespace(namespace).get(bare)
  const ports = service.spec.ports ?? []
  const found = port === '' ? (ports.length === 1 ? ports[0] : undefined) : ports.find((p) => p.name === port || String(p.port) === port)
  if (!found && port !== '') throw newServiceUnavailable(`no service port ${port} found for service "${bare}"`)
  const targets = await readyTargets(client, namespace, bare, found)
  if (!targets) throw newNotFound(SERVICES, bare)
  const chosen = targets[random.int(Math.max(1, targets.length))]
  if (!chosen) throw newServiceUnavailable(`no endpoints available for service "${bare}"`)
  return { scheme, ...chosen }
}

function splitName(name: string): { scheme: 'http' | 'https'; service: string; port: string } {
  const parts = name.split(':')
  if (parts.length === 3 && (parts[0] === 'http' || parts[0] === 'https')) return { scheme: parts[0], service: parts[1] ?? '', port: parts[2] ?? '' }
  return { scheme: 'http', service: parts[0] ?? '', port: parts[1] ?? '' }
}

/** Undefined: nobody has made endpoints for the Service at all. */
async function readyTargets(
  client: Client,
  namespace: string,
  service: string,
  port: corev1.ServicePort | undefined,
): Promise<{ host: string; port: number }[] | undefined> {
  const slices = await client
    .resource(resources.discoveryv1.endpointslices)
    .namespace(namespace)
    .list({ labelSelector: `kubernetes.io/service-name=${service}`, resourceVersion: '0' })
  if (slices.items.length === 0) return undefined
  return slices.items.flatMap((slice) => {
    const own = (slice.ports ?? []).find((p) => port === undefined || (p.name ?? '') === (port.name ?? ''))
    if (!own?.port) return []
    const number = own.port
    return (slice.endpoints ?? [])
      .filter((e) => e.conditions?.ready !== false)
      .flatMap((e) => e.addresses ?? [])
      .filter((address) => validateNonSpecialIP(address, FieldPath.root('address')).length === 0)
      .map((host) => ({ host, port: number }))
  })
}

function forward(call: ConnectCall, target: Target): Promise<ApiResponse> {
  const { request } = call.context
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || DROPPED.has(name) || name.startsWith(':') || name.startsWith('x-remote-') || name.startsWith('impersonate-')) continue
    headers[name] = value
  }
  const gone = new AbortController()
  request.onClose(() => gone.abort(new Error('client went away')))
  const options = {
    host: target.host,
    port: target.port,
    method: request.method,
    path: `${call.path || '/'}${request.query ? `?${request.query}` : ''}`,
    headers,
    agent: false as const,
    signal: gone.signal,
  }
  return new Promise((resolve, reject) => {
    const done = (answer: http.IncomingMessage) => {
      const back: Record<string, string> = {}
      for (const [name, value] of Object.entries(answer.headers)) {
        if (name === 'connection' || name === 'transfer-encoding' || name === 'keep-alive') continue
        back[name] = Array.isArray(value) ? value.join(', ') : (value ?? '')
      }
      resolve({ status: answer.statusCode ?? 502, headers: back, stream: answer })
    }
    // Whoever asks for https by name takes the certificate as it is, as upstream does.
    const out = target.scheme === 'https' ? https.request({ ...options, rejectUnauthorized: false }, done) : http.request(options, done)
    out.on('error', (error) => reject(newServiceUnavailable(`error trying to reach service: ${error.message}`)))
    const body = request.method === 'GET' || request.method === 'HEAD' ? undefined : request.bodyStream?.()
    if (body) body.pipe(out)
    else out.end()
  })
}
