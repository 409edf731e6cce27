import { scheme as builtinScheme, type ResourceInfo, type RuntimeConfig, type Scheme } from '../api/scheme.ts'
import { parseFieldSelector } from '../apimachinery/fields.ts'
import { groupResourceName } from '../apimachinery/object.ts'
import type { StructSchema } from '../apimachinery/schema/schema.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Transport } from '../client/transport.ts'
import type { Logger } from '../component-base/component.ts'
import { version } from '../component-base/version.ts'
import { createCacher } from '../storage/cacher/cacher.ts'
import type { ObjectStorage } from '../storage/interface.ts'
import type { KV } from '../storage/kv/kv.ts'
import type { AdmissionPlugin } from './admission/admission.ts'
import { AdmissionChain } from './admission/chain.ts'
import type { Authenticator, UserInfo } from './authentication/authenticator.ts'
import { createImpersonator } from './authentication/impersonation.ts'
import { unionAuthenticator } from './authentication/union.ts'
import type { Authorizer } from './authorization/authorizer.ts'
import { unionAuthorizer } from './authorization/union.ts'
import { buildChain } from './chain.ts'
import { SchemaCodec } from './codec/schema-codec.ts'
import { buildEndpoint, type EndpointParts, storageInfoOf } from './endpoints/build-endpoint.ts'
import { componentStatuses } from './endpoints/component-statuses.ts'
import { DiscoveryPaths } from './endpoints/discovery-paths.ts'
import type { ConnectHandler, CreateSubresource, VirtualKind } from './endpoints/endpoint.ts'
import { EndpointTable } from './endpoints/endpoint-table.ts'
import { NonResourcePaths } from './endpoints/non-resource.ts'
import { OpenAPIPaths } from './endpoints/openapi-paths.ts'
import { plainText } from './endpoints/plain.ts'
import { createRouter } from './endpoints/router.ts'
import type { AuditSink } from './filters/with-audit.ts'
import type { InFlight, InFlightLimits } from './filters/with-max-in-flight.ts'
import type { HandlerEnvironment } from './handlers/request-scope.ts'
import { TrackedFields } from './managed-fields/tracked.ts'
import { RequestMetrics } from './metrics/request-metrics.ts'
import { Negotiator } from './negotiation/accept.ts'
import { Encoder } from './negotiation/encode.ts'
import { Responder } from './negotiation/respond.ts'
import { bundledDescriptions, OpenAPIDocuments } from './openapi/index.ts'
import type { CreateHandler } from './registry/create-handler.ts'
import { ResourceStore } from './registry/resource-store.ts'
import type { KindRegistration } from './registry/strategy.ts'
import type { ApiRequest, ApiResponse } from './request/api-request.ts'
import { type Handler, RequestContext } from './request/context.ts'
import { isLongRunning } from './request/long-running.ts'
import { observedWatch } from './request/observed-watch.ts'
import { Query } from './request/query.ts'
import { BadPathError, parseRequestInfo } from './request/request-info.ts'
import { type Listener, type ListenOptions, listenHTTPS } from './transport/http-server.ts'
import { InProcessTransport } from './transport/in-process.ts'

export interface PostStartHook {
  readonly name: string
  /** Runs once the server answers; readiness waits for it. A rejection keeps the server unready and is logged. */
  run(server: ApiServer): Promise<void>
}

export interface ApiServerOptions {
  readonly kv: KV
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly scheme?: Scheme
  readonly runtimeConfig?: RuntimeConfig
  readonly kinds?: readonly KindRegistration[]
  readonly authenticators: readonly Authenticator[]
  readonly authorizers: readonly Authorizer[]
  /** In the order they run. */
  readonly admission?: readonly AdmissionPlugin[]
  isFeatureEnabled?(gate: string): boolean
  /** Create-only resources and subresources: reviews, tokens. */
  readonly createHandlers?: readonly CreateHandler[]
  /** By `resource.group/subresource`, such as `pods/exec`. */
  readonly connectHandlers?: Readonly<Record<string, ConnectHandler>>
  /** By `resource.group/subresource`, such as `pods/binding`. */
  readonly createSubresources?: Readonly<Record<string, CreateSubresource>>
  /** By `resource.group`. */
  readonly virtualKinds?: Readonly<Record<string, VirtualKind>>
  readonly postStartHooks?: readonly PostStartHook[]
  /** Told of a hook that failed: the server stays unready for good, so whoever runs it ends it, to be started again. */
  onHookFailure?(error: Error): void
  readonly audit?: AuditSink
  readonly inFlightLimits?: InFlightLimits
  /** In place of the two limits. */
  readonly flowControl?: (next: Handler) => Handler
  /** host:port that discovery tells clients to use; default: where the server listens. */
  readonly advertiseAddress?: string
  /** Storage of one resource; default: a watch cache over `kv`. */
  readonly storageFor?: (info: ResourceInfo, registration: KindRegistration | undefined) => ObjectStorage
  /** Paths and groups served by others: asked when the server has nothing of its own. */
  readonly fallback?: (context: RequestContext) => Promise<ApiResponse> | undefined
}

export interface ApiServer {
  handle(request: ApiRequest): Promise<ApiResponse>
  listen(options: ListenOptions): Promise<Listener>
  /** A transport of its own for one user; its `close` revokes it. */
  inProcess(user: UserInfo): Transport
  /** Resolves when all hooks have run. */
  readonly ready: Promise<void>
  readonly endpoints: EndpointTable
  readonly paths: NonResourcePaths
  readonly discovery: DiscoveryPaths
  /** Documents of custom resources and aggregated servers are added here. */
  readonly openapi: OpenAPIDocuments
  readonly environment: HandlerEnvironment
  readonly scheme: Scheme
  /** The store of a resource, for handlers of subresources. */
  store(group: string, resource: string): ResourceStore | undefined
  /** The endpoint parts given at the start: what else builds endpoints (custom resources) uses the same. */
  readonly authorizer: Authorizer
  close(graceMs?: number): Promise<void>
}

/** Puts an API server together. Nothing runs and nothing listens until asked. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const scheme = options.scheme ?? builtinScheme
  const { clock, random, log } = options
  const negotiator = new Negotiator()
  const encoder = new Encoder(scheme)
  const responder = new Responder(negotiator, encoder, clock)
  const authorizer = unionAuthorizer(options.authorizers)
  const codec = new SchemaCodec(scheme)
  const environment: HandlerEnvironment = {
    clock,
    random,
    isFeatureEnabled: options.isFeatureEnabled ?? (() => false),
    responder,
    codec,
    admission: new AdmissionChain(options.admission ?? []),
    authorizer,
    managedFields: new TrackedFields(clock, codec, (group, version, resource) => table.find(group, version, resource)),
    scaleSchema: () => scheme.schema({ group: 'autoscaling', version: 'v1', kind: 'Scale' }) as StructSchema,
    schemaOf: (gvk) => {
      const schema = scheme.schema(gvk)
      if (!schema) throw new Error(`no schema of ${gvk.group}/${gvk.version} ${gvk.kind}`)
      return schema
    },
  }
  const stores = new Map<string, ResourceStore>()
  const storages: ObjectStorage[] = []
  const table = new EndpointTable()
  installBuiltins(options, scheme, environment, stores, storages, table)
  const paths = new NonResourcePaths(negotiator)
  paths.extraPaths = () => apiPaths(table)
  let address = '127.0.0.1:443'
  const discovery = new DiscoveryPaths(table, scheme, responder, () => options.advertiseAddress ?? address)
  const openapi = new OpenAPIDocuments({
    scheme,
    resources: scheme.served(options.runtimeConfig),
    version: `${version.major}.${version.minor}`,
    descriptions: bundledDescriptions,
  })
  const openapiPaths = new OpenAPIPaths(openapi, clock, table)
  paths.serveFirst = (context) => discovery.serve(context)
  for (const path of ['/openapi/v2', '/openapi/v3']) paths.handle(path, (context) => openapiPaths.serve(context))
  paths.handlePrefix('/openapi/v3/', (context) => openapiPaths.serve(context))
  const inFlight: InFlight = { readOnly: 0, mutating: 0 }
  const metrics = new RequestMetrics(inFlight)
  paths.exposeMore = () => metrics.expose()
  const state = { closing: false, closed: false }
  const router = createRouter({
    table,
    environment,
    nonResource: (context) => paths.serve(context),
    ...(options.fallback ? { fallback: options.fallback } : {}),
  })
  const chain = buildChain(router, {
    writer: { negotiator, encoder },
    clock,
    log,
    authenticator: unionAuthenticator(options.authenticators),
    impersonator: createImpersonator((attributes) => authorizer.authorize(attributes)),
    authorizer,
    ...(options.audit ? { audit: options.audit } : {}),
    inFlight,
    metrics,
    limits: options.inFlightLimits ?? {},
    isShuttingDown: () => state.closing,
    ...(options.flowControl ? { flowControl: options.flowControl } : {}),
  })
  let running = 0
  const drained = new Set<() => void>()
  const watches = new Set<() => void>()
  const handle = async (request: ApiRequest): Promise<ApiResponse> => {
    running++
    try {
      const response = await chain(contextOf(request, clock, random))
      if (response.watch) {
        response.watch = observedWatch(response.watch, (stop) => {
          watches.add(stop)
          return { onEnd: () => watches.delete(stop) }
        })
      }
      return response
    } catch (error) {
      if (error instanceof BadPathError) return plainText(400, '400 Bad Request')
      throw error
    } finally {
      running--
      if (running === 0) for (const tell of [...drained]) tell()
    }
  }
  const listeners = new Set<Listener>()
  const transports = new Set<InProcessTransport>()
  const drain = async (graceMs: number) => {
    for (const stop of [...watches]) stop()
    if (running === 0) return
    await new Promise<void>((resolve) => {
      const done = () => {
        timer.cancel()
        drained.delete(done)
        resolve()
      }
      const timer = clock.setTimeout(done, graceMs)
      drained.add(done)
    })
  }
  const server: ApiServer = {
    handle,
    async listen(listenOptions) {
      const listener = await listenHTTPS(handle, listenOptions, drain)
      listeners.add(listener)
      address = `${listener.host}:${listener.port}`
      discovery.invalidate()
      return listener
    },
    inProcess(user) {
      const transport = new InProcessTransport(handle, user, () => !state.closed)
      transports.add(transport)
      return transport
    },
    ready: Promise.resolve(),
    endpoints: table,
    paths,
    discovery,
    openapi,
    environment,
    scheme,
    store: (group, resource) => stores.get(groupResourceName({ group, resource })),
    authorizer,
    async close(graceMs = 2000) {
      if (state.closing) return
      state.closing = true
      await Promise.all([...listeners].map((l) => l.close(graceMs)))
      await drain(graceMs)
      state.closed = true
      for (const transport of transports) transport.close()
      for (const storage of storages) storage.close?.()
    },
  }
  addChecks(paths, options, state)
  const ready = runHooks(server, options, paths)
  Object.defineProperty(server, 'ready', { value: ready })
  return server
}

function contextOf(request: ApiRequest, clock: Clock, random: Random): RequestContext {
  const query = new Query(request.query)
  const info = parseRequestInfo(
    request.method,
    request.path,
    () => query.bool('watch'),
    () => pinnedName(query),
  )
  const context = new RequestContext(request, info, request.headers['audit-id'] ?? random.uuid(), clock.monotonic(), query)
  context.longRunning = isLongRunning(info)
  return context
}

function pinnedName(query: Query): string {
  const text = query.get('fieldSelector')
  if (!text) return ''
  try {
    return parseFieldSelector(text).exactMatch('metadata.name') ?? ''
  } catch {
    return ''
  }
}

function installBuiltins(
  options: ApiServerOptions,
  scheme: Scheme,
  environment: HandlerEnvironment,
  stores: Map<string, ResourceStore>,
  storages: ObjectStorage[],
  table: EndpointTable,
): void {
  const registrations = new Map((options.kinds ?? []).map((k) => [groupResourceName(k), k as KindRegistration]))
  const parts: EndpointParts = {
    registrations,
    createHandlers: new Map((options.createHandlers ?? []).map((h) => [groupResourceName(h) + (h.subresource ? `/${h.subresource}` : ''), h])),
    connectHandlers: new Map(Object.entries(options.connectHandlers ?? {})),
    createSubresources: new Map(Object.entries(options.createSubresources ?? {})),
    virtualKinds: new Map(Object.entries({ componentstatuses: componentStatuses(options.kv), ...options.virtualKinds })),
  }
  for (const info of scheme.served(options.runtimeConfig)) {
    const storageInfo = storageInfoOf(scheme, info)
    let store: ResourceStore | undefined
    if (storageInfo) {
      const key = groupResourceName({ group: storageInfo.group, resource: storageInfo.resource })
      store = stores.get(key)
      if (!store) {
        const registration = registrations.get(key)
        const storage =
          options.storageFor?.(storageInfo, registration) ??
          createCacher(options.kv, {
            prefix: storageInfo.etcdPrefix as string,
            clock: options.clock,
            ...(registration?.ttlSeconds === undefined ? {} : { ttlSeconds: registration.ttlSeconds }),
          })
        storages.push(storage)
        store = new ResourceStore({
          info: storageInfo,
          storage,
          strategy: registration?.strategy ?? {},
          environment,
          standardFinalizers: storageInfo.group !== 'apiextensions.k8s.io',
        })
        stores.set(key, store)
      }
      const own = groupResourceName({ group: info.group, resource: info.resource })
      if (!stores.has(own)) stores.set(own, store)
    }
    table.add(buildEndpoint(scheme, info, store, parts))
  }
}

function apiPaths(table: EndpointTable): string[] {
  const out = new Set<string>(['/api', '/apis'])
  for (const { info } of table.all()) {
    if (info.group === '') out.add(`/api/${info.version}`)
    else {
      out.add('/apis/')
      out.add(`/apis/${info.group}`)
      out.add(`/apis/${info.group}/${info.version}`)
    }
  }
  return [...out]
}

function addChecks(paths: NonResourcePaths, options: ApiServerOptions, state: { closing: boolean }): void {
  const etcd = {
    name: 'etcd',
    check: async () => {
      await options.kv.get('/registry/health')
    },
  }
  for (const checks of [paths.healthz, paths.livez, paths.readyz]) checks.add(etcd)
  paths.readyz.add({ ...etcd, name: 'etcd-readiness' })
  paths.readyz.add({ name: 'informer-sync', check: () => {} })
  paths.readyz.add({
    name: 'shutdown',
    check: () => {
      if (state.closing) throw new Error('process is shutting down')
    },
  })
}

function runHooks(server: ApiServer, options: ApiServerOptions, paths: NonResourcePaths): Promise<void> {
  const hooks = options.postStartHooks ?? []
  const done = new Set<string>()
  for (const hook of hooks) {
    const check = {
      name: `poststarthook/${hook.name}`,
      check: () => {
        if (!done.has(hook.name)) throw new Error('not finished')
      },
    }
    for (const checks of [paths.healthz, paths.livez, paths.readyz]) checks.add(check)
  }
  return Promise.all(
    hooks.map(async (hook) => {
      try {
        // A hook may need what its creator does with the server first.
        await Promise.resolve()
        await hook.run(server)
        done.add(hook.name)
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        options.log.error('post-start hook failed', { hook: hook.name, error: message })
        options.onHookFailure?.(new Error(`PostStartHook ${JSON.stringify(hook.name)} failed: ${message}`, { cause: error }))
      }
    }),
  ).then(() => {})
}
