import { existsSync, readFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { load } from 'js-yaml'
import type { Clock } from '../../base/index.ts'
import { createHttpsTransport, type HttpsTransportOptions } from '../rest/https-transport.ts'
import type { Transport } from '../transport.ts'

/** A resolved kubeconfig context: where, as whom, and in which namespace. */
export interface ClientConfig {
  transport: HttpsTransportOptions
  /** The context's namespace. @default default */
  namespace: string
  contextName: string
}

interface NamedList<T> {
  name: string
  value: T
}

interface Cluster {
  server?: string
  'certificate-authority'?: string
  'certificate-authority-data'?: string
  'insecure-skip-tls-verify'?: boolean
  'tls-server-name'?: string
}

interface User {
  token?: string
  tokenFile?: string
  username?: string
  password?: string
  'client-certificate'?: string
  'client-certificate-data'?: string
  'client-key'?: string
  'client-key-data'?: string
  exec?: unknown
  'auth-provider'?: unknown
}

interface Context {
  cluster?: string
  user?: string
  namespace?: string
}

export class KubeconfigError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'KubeconfigError'
  }
}

export interface KubeconfigOptions {
  /** Another context than the current one. */
  context?: string
  /** Against which relative paths are resolved. @default the working directory */
  directory?: string
  /** Paces the re-reading of token files. */
  clock?: Pick<Clock, 'monotonic'>
}

/** Reads a kubeconfig file; relative paths in it are relative to its directory. Throws KubeconfigError. */
export function loadKubeconfig(path: string, options: KubeconfigOptions = {}): ClientConfig {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new KubeconfigError(`error loading config file "${path}": ${(error as Error).message}`)
  }
  return parseKubeconfig(text, { directory: dirname(path), ...options })
}

/** Resolves a kubeconfig's context; nothing is executed: `exec` and `auth-provider` users are refused. */
export function parseKubeconfig(text: string, options: KubeconfigOptions = {}): ClientConfig {
  const config = load(text) as Record<string, unknown> | undefined
  if (typeof config !== 'object' || config === null) throw new KubeconfigError('invalid configuration: no configuration has been provided')
  const contextName = options.context ?? (typeof config['current-context'] === 'string' ? config['current-context'] : '')
  const context = named<Context>(config['contexts'], 'context').find((c) => c.name === contextName)?.value
  if (!context)
    throw new KubeconfigError(contextName === '' ? 'invalid configuration: no configuration has been provided' : `context "${contextName}" does not exist`)
  const cluster = named<Cluster>(config['clusters'], 'cluster').find((c) => c.name === context.cluster)?.value
  if (!cluster?.server) throw new KubeconfigError(`invalid configuration: no server found for cluster "${context.cluster ?? ''}"`)
  const user = named<User>(config['users'], 'user').find((u) => u.name === context.user)?.value ?? {}
  if (user.exec || user['auth-provider'])
    throw new KubeconfigError(`invalid configuration: user "${context.user}" asks for a credential plugin, which is not supported`)
  const directory = options.directory ?? '.'
  const ca = material(directory, cluster['certificate-authority-data'], cluster['certificate-authority'])
  const cert = material(directory, user['client-certificate-data'], user['client-certificate'])
  const key = material(directory, user['client-key-data'], user['client-key'])
  return {
    contextName,
    namespace: context.namespace || 'default',
    transport: {
      server: cluster.server,
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(cluster['tls-server-name'] ? { tlsServerName: cluster['tls-server-name'] } : {}),
      ...(cluster['insecure-skip-tls-verify'] ? { insecureSkipTlsVerify: true } : {}),
      ...tokenOf(user, directory, options.clock),
      ...(user.username ? { basicAuth: { username: user.username, password: user.password ?? '' } } : {}),
    },
  }
}

/** The transport of a kubeconfig file's context. */
export function transportFromKubeconfig(path: string, options: KubeconfigOptions = {}): Transport {
  return createHttpsTransport(loadKubeconfig(path, options).transport)
}

const SERVICE_ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount'

/** What a Pod knows of its cluster: the service's address from the environment, the mounted token and CA. */
export function inClusterConfig(env: Record<string, string | undefined>, clock?: Pick<Clock, 'monotonic'>, directory = SERVICE_ACCOUNT_DIR): ClientConfig {
  const host = env['KUBERNETES_SERVICE_HOST']
  const port = env['KUBERNETES_SERVICE_PORT']
  if (!host || !port) {
    throw new KubeconfigError('unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined')
  }
  const namespaceFile = join(directory, 'namespace')
  return {
    contextName: '',
    namespace: existsSync(namespaceFile) ? readFileSync(namespaceFile, 'utf8').trim() : 'default',
    transport: {
      server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      ca: readFileSync(join(directory, 'ca.crt'), 'utf8'),
      token: tokenFile(join(directory, 'token'), clock),
    },
  }
}

function named<T>(list: unknown, field: string): NamedList<T>[] {
  if (!Array.isArray(list)) return []
  return list
    .filter((entry): entry is Record<string, unknown> => typeof entry === 'object' && entry !== null)
    .map((entry) => ({ name: String(entry['name'] ?? ''), value: (entry[field] ?? {}) as T }))
}

function material(directory: string, data: string | undefined, file: string | undefined): string | undefined {
  if (data) return Buffer.from(data, 'base64').toString('utf8')
  if (!file) return undefined
  const path = isAbsolute(file) ? file : join(directory, file)
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new KubeconfigError(`unable to read ${path}: ${(error as Error).message}`)
  }
}

function tokenOf(user: User, directory: string, clock: Pick<Clock, 'monotonic'> | undefined): Pick<HttpsTransportOptions, 'token'> {
  if (user.token) return { token: user.token }
  if (!user.tokenFile) return {}
  return { token: tokenFile(isAbsolute(user.tokenFile) ? user.tokenFile : join(directory, user.tokenFile), clock) }
}

const TOKEN_REREAD_MS = 60_000

/** The content of a token file, read again once a minute; while a new reading fails the old one stays. */
export function tokenFile(path: string, clock: Pick<Clock, 'monotonic'> | undefined): () => string {
  let token: string | undefined
  let readAt = Number.NEGATIVE_INFINITY
  return () => {
    const now = clock?.monotonic() ?? performance.now()
    if (token === undefined || now - readAt > TOKEN_REREAD_MS) {
      try {
        token = readFileSync(path, 'utf8').trim()
        readAt = now
      } catch (error) {
        if (token === undefined) throw error
      }
    }
    return token
  }
}
