import { type authenticationv1, resources } from '../../api/index.ts'
import { isAlreadyExists } from '../../apimachinery/errors.ts'
import type { UserInfo } from '../../apiserver/authentication/authenticator.ts'
import { TrustedCertificates } from '../../apiserver/authentication/trusted-certificates.ts'
import type { ApiServer } from '../../apiserver/server.ts'
import type { Clock } from '../../base/index.ts'
import { type Client, ConnectionError } from '../../client/client.ts'
import { parseKubeconfig } from '../../client/kubeconfig/kubeconfig.ts'
import { createClient } from '../../client/rest/client.ts'
import { createHttpsTransport } from '../../client/rest/https-transport.ts'
import type { Transport } from '../../client/transport.ts'
import { certificateDer } from '../../component-base/x509/index.ts'
import type { EndpointTable } from '../endpoint-table.ts'

export interface ComponentClientOptions {
  /** Text of the kubeconfig. */
  kubeconfig: string
  apiServers: EndpointTable<ApiServer>
  clock: Clock
  userAgent: string
  /** The API server may be one of this process; else its URL is called. */
  inProcess: boolean
  /** In one process: who asks, for a kubeconfig that holds no certificate. */
  user?: UserInfo
}

export interface ComponentClient {
  client: Client
  /** A client of the same server as a service account of kube-system, for components that act as several. */
  asServiceAccount(name: string): Client
  /** Ends everything under way; later requests are refused. */
  revoke(): void
}

/**
 * The client a kubeconfig describes. In one process with the server it takes the short way, but as the same user: the certificate is
 * checked against the kubeconfig's authority, and the server authorizes and admits it like anybody's.
 */
export function componentClient(options: ComponentClientOptions): ComponentClient {
  const config = parseKubeconfig(options.kubeconfig, { clock: options.clock })
  const { transport: t } = config
  const transports = new Set<Transport>()
  const make = (transport: Transport, agent: string): Client => {
    transports.add(transport)
    return createClient(transport, { userAgent: agent })
  }
  const revoke = () => {
    for (const transport of transports) transport.close()
  }
  if (!options.inProcess) {
    const client = make(createHttpsTransport(t), options.userAgent)
    const { cert: _, key: __, ...anonymous } = t
    return {
      client,
      asServiceAccount: (name) =>
        make(createHttpsTransport({ ...anonymous, token: serviceAccountToken(client, options.clock, name) }), `${options.userAgent}/${name}`),
      revoke,
    }
  }
  const user = options.user ?? certificateUser(t.ca, t.cert, options.clock.now())
  const lookup = () => options.apiServers.lookup(t.server)
  const firstSeen = firstTime(options.apiServers, t.server, options.clock, (server) => server.ready)
  return {
    client: make(followingTransport(lookup, user, t.server, firstSeen), options.userAgent),
    asServiceAccount: (name) => make(followingTransport(lookup, serviceAccountUser(name), t.server, firstSeen), `${options.userAgent}/${name}`),
    revoke,
  }
}

/** Who a client certificate says it is. @throws Error when the authority did not sign it */
export function certificateUser(ca: string | Uint8Array | undefined, certificate: string | Uint8Array | undefined, now: number): UserInfo {
  if (!ca || !certificate) throw new Error('the kubeconfig has no client certificate and authority: only such users can be served inside the process')
  const text = (pem: string | Uint8Array) => (typeof pem === 'string' ? pem : Buffer.from(pem).toString())
  const facts = new TrustedCertificates(text(ca)).verify(certificateDer(text(certificate)), now)
  if (!facts) throw new Error("the kubeconfig's client certificate was not signed by its authority")
  return { name: facts.subject.commonName, groups: facts.subject.organizations }
}

/** The least time after which components try again by themselves. */
const FIRST_WAIT_MS = 2000

/**
 * Components and the server start together. Who asks before the server was there for the first time waits until it is, and `until`, or for a
 * moment: without that, it would sleep through the server's start. Later a stopped server is a refused connection, at once.
 */
export function firstTime(
  servers: EndpointTable<ApiServer>,
  url: string,
  clock: Clock,
  until: (server: ApiServer) => Promise<void> = () => Promise.resolve(),
): () => Promise<void> {
  let waiting: Promise<void> | undefined
  const wait = async () => {
    const stop = new AbortController()
    const late = clock.setTimeout(() => stop.abort(new Error('not there yet')), FIRST_WAIT_MS)
    try {
      const server = await servers.waitFor([url], stop.signal)
      await Promise.race([until(server), new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve(), { once: true }))])
    } catch {
      // Refused, as the caller will see.
    } finally {
      late.cancel()
    }
  }
  return () => {
    waiting ??= wait()
    return waiting
  }
}

/** A transport to whichever server stands at a URL now: one that was stopped and came back is found again. */
export function followingTransport(lookup: () => ApiServer | undefined, user: UserInfo, url: string, firstSeen?: () => Promise<void>): Transport {
  let server: ApiServer | undefined
  let inner: Transport | undefined
  let closed = false
  return {
    async send(request) {
      if (firstSeen && !server) await firstSeen()
      const now = lookup()
      if (closed || !now) throw new ConnectionError(`dial tcp ${new URL(url).host}: connect: connection refused`, 'ECONNREFUSED')
      if (now !== server) {
        inner?.close()
        server = now
        inner = now.inProcess(user)
      }
      return (inner as Transport).send(request)
    },
    close() {
      closed = true
      inner?.close()
    },
  }
}

/** A service account of kube-system. */
export const serviceAccountUser = (name: string): UserInfo => ({
  name: `system:serviceaccount:kube-system:${name}`,
  groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system'],
})

/** Tokens are asked for an hour and renewed after two thirds of it. */
const TOKEN_SECONDS = 3600

/** A token of a service account in kube-system, which is made when it is not there. */
function serviceAccountToken(client: Client, clock: Clock, name: string): () => Promise<string> {
  const accounts = client.resource(resources.corev1.serviceaccounts).namespace('kube-system')
  let current: { token: string; renewAt: number } | undefined
  let asking: Promise<string> | undefined
  const ask = async (): Promise<string> => {
    await accounts.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } }).catch((e) => {
      if (!isAlreadyExists(e)) throw e
    })
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec: { audiences: [], expirationSeconds: TOKEN_SECONDS } }
    const answer = await accounts.createSubresource<authenticationv1.TokenRequest>(name, 'token', request)
    current = { token: answer.status.token, renewAt: clock.monotonic() + (TOKEN_SECONDS * 1000 * 2) / 3 }
    return answer.status.token
  }
  return () => {
    if (current && clock.monotonic() < current.renewAt) return Promise.resolve(current.token)
    asking ??= ask().finally(() => {
      asking = undefined
    })
    return asking
  }
}
