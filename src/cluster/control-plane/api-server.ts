import { isIP } from 'node:net'
import { type corev1, resources } from '../../api/index.ts'
import { CustomResources, definitionKind } from '../../apiextensions/index.ts'
import { apiVersionOf } from '../../apimachinery/object.ts'
import { anonymousAuthenticator } from '../../apiserver/authentication/anonymous.ts'
import type { Authenticator } from '../../apiserver/authentication/authenticator.ts'
import { cachedTokenAuthenticator } from '../../apiserver/authentication/cached-token.ts'
import { clientCertificateAuthenticator } from '../../apiserver/authentication/client-certificate.ts'
import { MASTERS_GROUP } from '../../apiserver/authentication/groups.ts'
import { inProcessAuthenticator } from '../../apiserver/authentication/in-process.ts'
import { requestHeaderAuthenticator } from '../../apiserver/authentication/request-header.ts'
import { bearerTokenAuthenticator } from '../../apiserver/authentication/token.ts'
import type { Attributes, Authorizer } from '../../apiserver/authorization/authorizer.ts'
import { privilegedAuthorizer, unionAuthorizer } from '../../apiserver/authorization/union.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { type ApiServer, createApiServer } from '../../apiserver/server.ts'
import type { Clock, Random } from '../../base/index.ts'
import { InformerFactory } from '../../client/cache/informer-factory.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/rest/client.ts'
import type { Transport } from '../../client/transport.ts'
import type { FeatureGates, Logger } from '../../component-base/index.ts'
import { admissionPlugins } from '../../plugin/admission/index.ts'
import { bootstrapTokenAuthenticator } from '../../plugin/auth/bootstrap-token/index.ts'
import { informedNodeGraph, nodeAuthorizer } from '../../plugin/auth/node/index.ts'
import { escalationGuard, informedRuleResolver, rbacAuthorizer } from '../../plugin/auth/rbac/index.ts'
import {
  boundObjects,
  openIdDocuments,
  serviceAccountTokenAuthenticator,
  signingKey,
  tokenRequestHandler,
  verificationKey,
} from '../../plugin/auth/service-account/index.ts'
import { bootstrapHooks } from '../../plugin/bootstrap/index.ts'
import { ensureLocalServices } from '../../registry/apiregistration/local-services.ts'
import { selfSubjectReviewHandler, tokenReviewHandler } from '../../registry/authentication/reviews.ts'
import { accessReviewHandlers } from '../../registry/authorization/reviews.ts'
import { bindingHandler, podBinding } from '../../registry/core/pod/binding.ts'
import { type NodeConnection, nodeConnectHandlers } from '../../registry/core/pod/connect.ts'
import { evictionHandler } from '../../registry/core/pod/eviction.ts'
import { createServicePools } from '../../registry/core/service/pools.ts'
import { serviceProxy } from '../../registry/core/service/proxy.ts'
import { ServiceRepair } from '../../registry/core/service/repair.ts'
import { serverKinds } from '../../registry/kinds.ts'
import { ensureDefaultCIDR } from '../../registry/networking/default-cidr.ts'
import type { KV } from '../../storage/kv/kv.ts'

const SERVICE_REPAIR_MS = 3 * 60_000

export interface ApiServerConfig {
  kv: KV
  clock: Clock
  random: Random
  log: Logger
  features: FeatureGates
  /** PEM of the authority of users. */
  clientCA?: string
  frontProxy?: { clientCA: string; allowedNames: readonly string[] }
  serviceAccounts: {
    issuer: string
    /** PEM of the key that signs; absent: no tokens are made. */
    signingKey?: string
    /** PEM of keys whose tokens are believed. */
    publicKeys: readonly string[]
  }
  serviceClusterIPRange: string
  /** @default 30000-32767 */
  serviceNodePortRange?: { first: number; last: number }
  advertiseAddress: string
  securePort: number
  /** Names of admission plugins, beside the defaults. */
  enabledAdmission?: readonly string[]
  disabledAdmission?: readonly string[]
  /** Without RBAC everybody may do everything. */
  rbac: boolean
  /** How the kubelet of a node is reached, for logs and streams; absent: they are not served. */
  connectNode?(node: corev1.Node): Promise<NodeConnection>
  /** Ends loops that hooks leave behind. */
  signal: AbortSignal
  /** A hook failed: this server will not become ready. */
  onHookFailure?(error: Error): void
}

export interface RunningApiServer {
  server: ApiServer
  /** May do everything; ends with the server. */
  loopback: Client
}

/** The whole kube-apiserver over a store: who may come in, what is checked, every kind, and what it makes when it starts. */
export function buildApiServer(config: ApiServerConfig): RunningApiServer {
  const { clock, random, log, signal } = config
  let server: ApiServer | undefined
  const loopbackTransport = lateTransport(() => {
    if (!server) throw new Error('the API server is not there yet')
    return server.inProcess({ name: 'system:apiserver', groups: [MASTERS_GROUP] })
  })
  const loopback = createClient(loopbackTransport, { userAgent: 'kube-apiserver' })
  const informers = new InformerFactory({ client: loopback, clock, random, log })
  const resolver = informedRuleResolver(informers)
  const rbac = rbacAuthorizer(resolver)
  const authorizers: Authorizer[] = config.rbac
    ? [privilegedAuthorizer, nodeAuthorizer(informedNodeGraph(informers), (gate) => config.features.enabled(gate)), rbac]
    : [{ name: 'AlwaysAllow', authorize: () => ({ decision: 'allow' }) }]
  const authorizer = unionAuthorizer(authorizers)
  const objects = boundObjects(loopback, {
    serviceAccounts: informers.informer(resources.corev1.serviceaccounts).lister,
    pods: informers.informer(resources.corev1.pods).lister,
    nodes: informers.informer(resources.corev1.nodes).lister,
  })
  const apiAudiences = [config.serviceAccounts.issuer]
  const keys = config.serviceAccounts.publicKeys.map(verificationKey)
  const tokens = [
    serviceAccountTokenAuthenticator({ keys, issuers: [config.serviceAccounts.issuer], objects, clock }),
    bootstrapTokenAuthenticator({ secret: (name) => objects.secret('kube-system', name), clock }),
  ]
  const authenticators: Authenticator[] = [
    inProcessAuthenticator(),
    ...(config.frontProxy ? [requestHeaderAuthenticator({ clientCa: config.frontProxy.clientCA, allowedNames: config.frontProxy.allowedNames, clock })] : []),
    ...(config.clientCA ? [clientCertificateAuthenticator({ clientCa: config.clientCA, clock })] : []),
    bearerTokenAuthenticator(
      tokens.map((t) => cachedTokenAuthenticator(t, clock)),
      apiAudiences,
    ),
    anonymousAuthenticator(),
  ]
  const connect = config.connectNode && ((node: corev1.Node) => (config.connectNode as NonNullable<typeof config.connectNode>)(node))
  const guard = escalationGuard(resolver, (attributes: Attributes) => authorizer.authorize(attributes))
  const sign = config.serviceAccounts.signingKey
  const services = createServicePools({
    client: loopback,
    kv: config.kv,
    clusterIPRange: config.serviceClusterIPRange,
    ...(config.serviceNodePortRange ? { nodePortRange: config.serviceNodePortRange } : {}),
  })
  const hooks = bootstrapHooks({
    client: loopback,
    clock,
    log,
    isEnabled: (gate) => config.features.enabled(gate),
    authentication: {
      ...(config.clientCA ? { clientCa: config.clientCA } : {}),
      ...(config.frontProxy ? { requestHeader: { clientCa: config.frontProxy.clientCA, allowedNames: config.frontProxy.allowedNames } } : {}),
    },
    service: { clusterIP: firstAddress(config.serviceClusterIPRange), advertiseAddress: config.advertiseAddress, securePort: config.securePort },
  })
  server = createApiServer({
    kv: config.kv,
    clock,
    random,
    log,
    kinds: [...serverKinds({ escalation: guard, services }), definitionKind as KindRegistration],
    authenticators,
    authorizers,
    admission: admissionPlugins(
      {
        client: loopback,
        informers,
        clock,
        random,
        isEnabled: (gate) => config.features.enabled(gate),
        authorize: (attributes) => authorizer.authorize(attributes),
      },
      { ...(config.enabledAdmission ? { enable: config.enabledAdmission } : {}), ...(config.disabledAdmission ? { disable: config.disabledAdmission } : {}) },
    ),
    isFeatureEnabled: (gate) => config.features.enabled(gate),
    createHandlers: [
      ...(sign ? [tokenRequestHandler({ key: signingKey(sign), issuer: config.serviceAccounts.issuer, apiAudiences, objects, clock, random })] : []),
      tokenReviewHandler({ authenticators: tokens, apiAudiences }),
      selfSubjectReviewHandler(clock),
      ...accessReviewHandlers(authorizer),
      bindingHandler(loopback),
      evictionHandler(loopback, clock),
    ],
    createSubresources: { 'pods/binding': podBinding({ clock, random, isFeatureEnabled: (gate) => config.features.enabled(gate) }) },
    connectHandlers: { 'services/proxy': serviceProxy(loopback, random), ...(connect ? nodeConnectHandlers({ clock, client: loopback, connect }) : {}) },
    onHookFailure: (error) => {
      if (!signal.aborted) config.onHookFailure?.(error)
    },
    postStartHooks: [
      ...hooks.map((h) => ({ name: h.name, run: () => h.run(signal) })),
      { name: 'start-kubernetes-service-cidr-controller', run: () => ensureDefaultCIDR(loopback, config.serviceClusterIPRange, () => clock.now()) },
      {
        name: 'apiservice-registration-controller',
        run: (started) => ensureLocalServices(loopback, started.scheme, new Set([...started.endpoints.all()].map(({ info }) => apiVersionOf(info)))),
      },
      {
        name: 'start-service-ip-repair-controllers',
        run: async () => {
          const repair = new ServiceRepair(loopback, services)
          await repair.run()
          const timer = clock.setInterval(() => {
            repair.run().catch((error: unknown) => log.error('repair of service addresses and ports failed', { error: String(error) }))
          }, SERVICE_REPAIR_MS)
          signal.addEventListener('abort', () => timer.cancel(), { once: true })
        },
      },
      {
        name: 'start-apiextensions-controllers',
        run: async (started) => {
          const custom = new CustomResources({ server: started, kv: config.kv, clock, log })
          signal.addEventListener('abort', () => custom.stop(), { once: true })
          await custom.start()
        },
      },
    ],
  })
  informers.start(signal)
  for (const d of openIdDocuments(config.serviceAccounts.issuer, `https://${config.advertiseAddress}:${config.securePort}/openid/v1/jwks`, keys)) {
    server.paths.handle(d.path, async () => ({
      status: 200,
      headers: { 'content-type': d.contentType, 'cache-control': d.cacheControl },
      bytes: Buffer.from(d.body),
    }))
  }
  return { server, loopback }
}

/** A transport that is made at its first use. */
function lateTransport(make: () => Transport): Transport {
  let inner: Transport | undefined
  return {
    send(request) {
      inner ??= make()
      return inner.send(request)
    },
    close() {
      inner?.close()
    },
  }
}

/** `10.96.0.0/12` → `10.96.0.1`. */
export function firstAddress(cidr: string): string {
  const [address = '', bits = '32'] = cidr.split('/')
  if (isIP(address) !== 4) throw new Error(`service range ${cidr}: only IPv4 ranges are served`)
  const n = address.split('.').reduce((a, b) => a * 256 + Number(b), 0)
  const size = 2 ** (32 - Number(bits))
  const first = Math.floor(n / size) * size + 1
  return [24, 16, 8, 0].map((s) => Math.floor(first / 2 ** s) % 256).join('.')
}
