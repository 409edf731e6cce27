import { join } from 'node:path'
import type { corev1 } from '../../api/index.ts'
import { type FlagSpecs, type ParsedFlags, parseFlags, UsageError } from '../../component-base/flags/index.ts'
import { type ComponentContext, createFeatureGates, parseFeatureGates } from '../../component-base/index.ts'
import { issueKeyPair } from '../../component-base/x509/index.ts'
import type { NodeConnection } from '../../registry/core/pod/connect.ts'
import { forwardingKV } from '../../storage/kv/forwarding-kv.ts'
import type { KV } from '../../storage/kv/kv.ts'
import { buildApiServer } from './api-server.ts'
import type { ControlPlaneEnvironment, FileReader } from './environment.ts'
import { aborted } from './etcd.ts'
import { commonFlags } from './klog-flags.ts'

export const apiServerFlags: FlagSpecs = {
  'advertise-address': { kind: 'string', usage: 'The IP address on which to advertise the apiserver to members of the cluster.', value: 'ip' },
  'allow-privileged': { kind: 'bool', usage: 'If true, allow privileged containers.', default: 'false' },
  'anonymous-auth': { kind: 'bool', usage: 'Enables anonymous requests to the secure port of the API server.', default: 'true' },
  'authorization-mode': {
    kind: 'list',
    usage: 'Ordered list of plug-ins to do authorization on secure port: AlwaysAllow, AlwaysDeny, Node, RBAC.',
    default: 'AlwaysAllow',
  },
  'bind-address': { kind: 'string', usage: 'The IP address on which to listen for the --secure-port port.', default: '0.0.0.0', value: 'ip' },
  'cert-dir': { kind: 'string', usage: 'The directory where the TLS certs are located (apiserver.crt, apiserver.key).', default: '/var/run/kubernetes' },
  'client-ca-file': {
    kind: 'string',
    usage: 'If set, any request presenting a client certificate signed by one of these authorities is authenticated with its CommonName.',
  },
  'disable-admission-plugins': { kind: 'list', usage: 'admission plugins that should be disabled although they are in the default enabled plugins list' },
  'enable-admission-plugins': { kind: 'list', usage: 'admission plugins that should be enabled in addition to default enabled ones' },
  'enable-bootstrap-token-auth': {
    kind: 'bool',
    usage: "Enable to allow secrets of type 'bootstrap.kubernetes.io/token' to be used for TLS bootstrapping authentication.",
  },
  'enable-priority-and-fairness': {
    kind: 'bool',
    usage: 'If true, replace the max-in-flight handler with an enhanced one that queues and dispatches.',
    default: 'true',
  },
  'etcd-cafile': { kind: 'string', usage: 'SSL Certificate Authority file used to secure etcd communication.' },
  'etcd-certfile': { kind: 'string', usage: 'SSL certification file used to secure etcd communication.' },
  'etcd-keyfile': { kind: 'string', usage: 'SSL key file used to secure etcd communication.' },
  'etcd-prefix': { kind: 'string', usage: 'The prefix to prepend to all resource paths in etcd.', default: '/registry' },
  'etcd-servers': { kind: 'list', usage: 'List of etcd servers to connect with (scheme://ip:port), comma separated.' },
  'kubelet-client-certificate': { kind: 'string', usage: 'Path to a client cert file for TLS.' },
  'kubelet-client-key': { kind: 'string', usage: 'Path to a client key file for TLS.' },
  'kubelet-certificate-authority': { kind: 'string', usage: 'Path to a cert file for the certificate authority.' },
  'kubelet-preferred-address-types': {
    kind: 'list',
    usage: 'List of the preferred NodeAddressTypes to use for kubelet connections.',
    default: 'Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP',
  },
  'max-mutating-requests-inflight': {
    kind: 'int',
    usage: 'This and --max-requests-inflight are summed to determine the total concurrency limit.',
    default: '200',
  },
  'max-requests-inflight': {
    kind: 'int',
    usage: 'This and --max-mutating-requests-inflight are summed to determine the total concurrency limit.',
    default: '400',
  },
  'proxy-client-cert-file': { kind: 'string', usage: 'Client certificate used to prove the identity of the aggregator.' },
  'proxy-client-key-file': { kind: 'string', usage: 'Private key for the client certificate used to prove the identity of the aggregator.' },
  'requestheader-allowed-names': { kind: 'list', usage: 'List of client certificate common names to allow to provide usernames in headers.' },
  'requestheader-client-ca-file': {
    kind: 'string',
    usage: 'Root certificate bundle to use to verify client certificates on incoming requests before trusting usernames in headers.',
  },
  'requestheader-extra-headers-prefix': { kind: 'list', usage: 'List of request header prefixes to inspect. X-Remote-Extra- is used.' },
  'requestheader-group-headers': { kind: 'list', usage: 'List of request headers to inspect for groups. X-Remote-Group is used.' },
  'requestheader-username-headers': { kind: 'list', usage: 'List of request headers to inspect for usernames. X-Remote-User is used.' },
  'runtime-config': { kind: 'list', usage: 'A set of key=value pairs that enable or disable built-in APIs.', value: 'mapStringString' },
  'secure-port': {
    kind: 'int',
    usage: 'The port on which to serve HTTPS with authentication and authorization. It cannot be switched off with 0.',
    default: '6443',
  },
  'service-account-issuer': { kind: 'array', usage: 'Identifier of the service account token issuer.' },
  'service-account-key-file': {
    kind: 'array',
    usage: 'File containing PEM-encoded x509 RSA or ECDSA private or public keys, used to verify ServiceAccount tokens.',
  },
  'service-account-signing-key-file': { kind: 'string', usage: 'Path to the file that contains the current private key of the service account token issuer.' },
  'service-cluster-ip-range': { kind: 'string', usage: 'A CIDR notation IP range from which to assign service cluster IPs.', default: '10.0.0.0/24' },
  'service-node-port-range': { kind: 'string', usage: 'A port range to reserve for services with NodePort visibility.', default: '30000-32767' },
  'tls-cert-file': { kind: 'string', usage: 'File containing the default x509 Certificate for HTTPS.' },
  'tls-private-key-file': { kind: 'string', usage: 'File containing the default x509 private key matching --tls-cert-file.' },
  ...commonFlags,
}

/** Serves the API until the signal aborts. */
export async function runKubeApiServer(
  context: ComponentContext,
  argv: readonly string[],
  environment: ControlPlaneEnvironment,
  files: FileReader & { hostPath(path: string): string },
): Promise<void> {
  const flags = parseFlags(apiServerFlags, argv, { singleDash: true })
  if (flags.list('etcd-servers').length === 0) throw new UsageError('--etcd-servers must be specified')
  const read = async (name: string): Promise<string | undefined> => (flags.string(name) === '' ? undefined : files.read(flags.string(name)))
  const { clock, random, log, signal } = context
  log.info('Starting', { etcdServers: flags.list('etcd-servers').join(',') })
  const store = await openStore(flags, environment, files, signal)
  log.info('store found')
  const serving = await servingPair(flags, files, context)
  const clientCA = await read('client-ca-file')
  const frontProxyCA = await read('requestheader-client-ca-file')
  const signingKey = await read('service-account-signing-key-file')
  const publicKeys = await Promise.all(flags.list('service-account-key-file').map((f) => files.read(f)))
  const securePort = flags.int('secure-port')
  const modes = flags.list('authorization-mode')
  const bind = flags.string('bind-address')
  const advertise = flags.string('advertise-address') || (bind === '0.0.0.0' ? '127.0.0.1' : bind)
  const ended = new AbortController()
  const stop = () => ended.abort()
  signal.addEventListener('abort', stop, { once: true })
  let fail: (error: Error) => void = () => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  failed.catch(() => {})
  const { server } = buildApiServer({
    kv: store.kv,
    clock,
    random,
    log,
    features: createFeatureGates(parseFeatureGates(flags.list('feature-gates').join(','))),
    ...(clientCA ? { clientCA } : {}),
    ...(frontProxyCA ? { frontProxy: { clientCA: frontProxyCA, allowedNames: flags.list('requestheader-allowed-names') } } : {}),
    serviceAccounts: {
      issuer: flags.list('service-account-issuer')[0] ?? `https://${advertise}:${securePort}/`,
      ...(signingKey ? { signingKey } : {}),
      publicKeys: publicKeys.length > 0 ? publicKeys : signingKey ? [signingKey] : [],
    },
    serviceClusterIPRange: flags.string('service-cluster-ip-range'),
    advertiseAddress: advertise,
    securePort,
    rbac: modes.includes('RBAC'),
    connectNode: environment.connectNode
      ? (node) => (environment.connectNode as NonNullable<typeof environment.connectNode>)(node)
      : await kubeletsByHttps(flags, read),
    disabledAdmission: flags.list('disable-admission-plugins'),
    enabledAdmission: flags.list('enable-admission-plugins'),
    signal: ended.signal,
    onHookFailure: (error) => fail(error),
  })
  const undo: (() => void)[] = []
  try {
    if (environment.listen) {
      const ca = [clientCA, frontProxyCA].filter((c) => c !== undefined).join('\n')
      for (const host of new Set([bind, ...(environment.extraApiAddresses ?? [])])) {
        await server.listen({ host, port: securePort, ...serving, ...(ca ? { clientCA: ca } : {}) })
        log.info('Serving securely', { address: `${host}:${securePort}` })
      }
    }
    for (const host of new Set(['127.0.0.1', advertise])) undo.push(environment.apiServers.register(`https://${host}:${securePort}`, server))
    await Promise.race([aborted(signal), failed])
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
    for (const fn of undo) fn()
    await server.close()
    await store.close()
  }
}

async function openStore(
  flags: ParsedFlags,
  environment: ControlPlaneEnvironment,
  files: FileReader,
  signal: AbortSignal,
): Promise<{ kv: KV; close(): Promise<void> }> {
  const urls = flags.list('etcd-servers')
  const own = urls.find((u) => environment.etcds.lookup(u) !== undefined)
  // In one process etcd may come a moment later, or stop and come back: it is waited for once, and looked up at each call.
  if (environment.inProcess) await environment.etcds.waitFor(urls, signal)
  if (own !== undefined || environment.inProcess)
    return {
      kv: forwardingKV(() => urls.map((u) => environment.etcds.lookup(u)).find((k) => k !== undefined), new URL(urls[0] as string).host),
      close: async () => {},
    }
  if (!environment.connectStore) throw new Error(`no etcd answers at ${urls.join(', ')}`)
  const file = (name: string) => (flags.string(name) === '' ? undefined : files.read(flags.string(name)))
  const [ca, cert, key] = await Promise.all([file('etcd-cafile'), file('etcd-certfile'), file('etcd-keyfile')])
  const kv = await environment.connectStore(urls, ca && cert && key ? { ca, cert, key } : undefined)
  return { kv, close: () => kv.close() }
}

/** The flags' pair, the pair in --cert-dir, or one made for this run and signed by itself, as the original does. */
async function servingPair(flags: ParsedFlags, files: FileReader, context: ComponentContext): Promise<{ cert: string; key: string }> {
  if (flags.string('tls-cert-file') !== '')
    return { cert: await files.read(flags.string('tls-cert-file')), key: await files.read(flags.string('tls-private-key-file')) }
  const dir = flags.string('cert-dir')
  try {
    return { cert: await files.read(join(dir, 'apiserver.crt')), key: await files.read(join(dir, 'apiserver.key')) }
  } catch {
    const now = context.clock.now()
    const pair = issueKeyPair(
      {
        subject: { commonName: 'localhost', organizations: [] },
        notBefore: now - 3_600_000,
        notAfter: now + 365 * 24 * 3_600_000,
        usages: ['digitalSignature', 'keyEncipherment'],
        extendedUsages: ['serverAuth'],
        names: { dns: ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'], ips: ['127.0.0.1'] },
      },
      undefined,
      context.random,
    )
    return { cert: pair.certificate, key: pair.key }
  }
}

/** Kubelets behind their ports, at the first address of a preferred type that a node has. */
async function kubeletsByHttps(
  flags: ParsedFlags,
  read: (flag: string) => Promise<string | undefined>,
): Promise<(node: corev1.Node) => Promise<NodeConnection>> {
  const [certificate, key, ca] = await Promise.all([read('kubelet-client-certificate'), read('kubelet-client-key'), read('kubelet-certificate-authority')])
  const types = flags.list('kubelet-preferred-address-types')
  return async (node) => {
    const addresses = node.status.addresses ?? []
    const host = types.map((t) => addresses.find((a) => a.type === t)?.address).find((a) => a !== undefined)
    if (!host) throw new Error(`no preferred addresses found; known addresses: [${addresses.map((a) => a.address).join(' ')}]`)
    const port = node.status.daemonEndpoints?.kubeletEndpoint?.Port ?? 10250
    return { kind: 'https', host, port, ...(ca ? { ca } : {}), ...(certificate ? { certificate } : {}), ...(key ? { key } : {}) }
  }
}
