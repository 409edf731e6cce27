import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import {
  type CertificateTemplate,
  certificateDer,
  type DistinguishedName,
  decodePem,
  generateKey,
  type Issuer,
  issueKeyPair,
  issuerOf,
  type KeyPair,
  privateKeyPem,
  publicKeyDer,
  publicKeyPem,
  readCertificate,
} from '../../component-base/x509/index.ts'
import { memoryPkiStore, type PkiStore } from './store.ts'

export interface PkiOptions {
  /** Where keys and certificates are kept; without it in memory only, for clusters that live inside a process. */
  readonly store?: PkiStore
  readonly clock: Pick<Clock, 'now'>
  readonly random: Random
  readonly nodeName: string
  /** Addresses the API server and the kubelet are reached at, beside loopback. */
  readonly hostIPs?: readonly string[]
  /** First address of the service range @default '10.96.0.1' */
  readonly serviceIP?: string
  /** @default 'cluster.local' */
  readonly clusterDomain?: string
  /** More names or addresses for the API server's certificate. */
  readonly extraNames?: readonly string[]
}

export interface ServiceAccountKeys {
  readonly privateKey: string
  readonly publicKey: string
}

/** Every key and certificate of a cluster's control plane and first node, in kubeadm's identities. All PEM. */
export interface Pki {
  readonly ca: KeyPair
  readonly frontProxyCa: KeyPair
  /** Signs only what speaks to etcd: whoever holds a certificate of it reads and writes every record. */
  readonly etcdCa: KeyPair
  readonly etcdServer: KeyPair
  readonly apiserverEtcdClient: KeyPair
  readonly frontProxyClient: KeyPair
  readonly serviceAccount: ServiceAccountKeys
  readonly apiserver: KeyPair
  readonly apiserverKubeletClient: KeyPair
  /** kubernetes-admin of kubeadm:cluster-admins: powerful by a role binding. */
  readonly admin: KeyPair
  /** kubernetes-super-admin of system:masters: passes authorization altogether. */
  readonly superAdmin: KeyPair
  readonly controllerManager: KeyPair
  readonly scheduler: KeyPair
  readonly kubelet: KeyPair
  readonly kubeletServing: KeyPair
  /** Client credentials of another node. */
  nodeClient(nodeName: string): KeyPair
  /** A serving certificate of another node's kubelet. */
  nodeServing(nodeName: string, ips: readonly string[]): KeyPair
  /** Client credentials of anyone else. */
  client(subject: DistinguishedName): KeyPair
}

const YEAR = 365 * 24 * 3_600_000
const BACKDATE = 5 * 60_000
/** Leaves are made anew when less of their year is left. */
const RENEW_BEFORE = 30 * 24 * 3_600_000

interface LeafSpec {
  readonly subject: DistinguishedName
  readonly use: 'clientAuth' | 'serverAuth'
  readonly dns?: readonly string[]
  readonly ips?: readonly string[]
}

/**
 * Reads what the store holds and makes what is missing, close to its end, signed by another authority or made for other names. Authorities
 * and service-account keys are never replaced. @throws Error when a stored key or certificate cannot be read
 */
export async function createPki(options: PkiOptions): Promise<Pki> {
  const { clock, random, nodeName } = options
  const store = options.store ?? memoryPkiStore()
  const now = clock.now()
  const domain = options.clusterDomain ?? 'cluster.local'
  const hostIPs = options.hostIPs ?? []

  // Reading a key takes longer than signing with it, and where all is good nothing is signed.
  const issuers = new Map<KeyPair, Issuer>()
  const signer = (pair: KeyPair): Issuer => {
    let issuer = issuers.get(pair)
    if (!issuer) issuers.set(pair, (issuer = issuerOf(pair)))
    return issuer
  }
  const publicKeys = new Map<KeyPair, KeyObject>()
  const verifier = (pair: KeyPair): KeyObject => {
    let key = publicKeys.get(pair)
    if (!key) publicKeys.set(pair, (key = createPublicKey(pair.certificate)))
    return key
  }
  const authority = async (name: string, commonName: string): Promise<KeyPair> => {
    const kept = await readPair(store, name)
    if (kept) return kept
    const pair = issueKeyPair(
      {
        subject: { commonName, organizations: [] },
        notBefore: now - BACKDATE,
        notAfter: now + 10 * YEAR,
        ca: true,
        usages: ['digitalSignature', 'keyEncipherment', 'keyCertSign'],
        names: { dns: [commonName] },
      },
      undefined,
      random,
    )
    await writePair(store, name, pair)
    return pair
  }
  const template = (spec: LeafSpec): CertificateTemplate => ({
    subject: spec.subject,
    notBefore: now - BACKDATE,
    notAfter: now + YEAR,
    usages: ['digitalSignature', 'keyEncipherment'],
    extendedUsages: [spec.use],
    names: { dns: spec.dns ?? [], ips: spec.ips ?? [] },
  })
  const leaf = async (name: string, issuer: KeyPair, spec: LeafSpec): Promise<KeyPair> => {
    const kept = await readPair(store, name)
    if (kept && stillGood(kept, verifier(issuer), spec, now)) return kept
    const pair = issueKeyPair(template(spec), signer(issuer), random)
    await writePair(store, name, pair)
    return pair
  }

  const [ca, frontProxyCa, etcdCa, serviceAccount] = await Promise.all([
    authority('ca', 'kubernetes'),
    authority('front-proxy-ca', 'front-proxy-ca'),
    authority('etcd/ca', 'etcd-ca'),
    serviceAccountKeys(store),
  ])
  const client = (name: string, commonName: string, ...organizations: string[]) => leaf(name, ca, { subject: { commonName, organizations }, use: 'clientAuth' })
  const serverNames = [
    ...new Set([
      'kubernetes',
      'kubernetes.default',
      'kubernetes.default.svc',
      `kubernetes.default.svc.${domain}`,
      'localhost',
      nodeName,
      options.serviceIP ?? '10.96.0.1',
      '127.0.0.1',
      '::1',
      ...hostIPs,
      ...(options.extraNames ?? []),
    ]),
  ]
  const node = (name: string): DistinguishedName => ({ commonName: `system:node:${name}`, organizations: ['system:nodes'] })
  const serving = (name: string, ips: readonly string[]): LeafSpec => ({
    subject: node(name),
    use: 'serverAuth',
    dns: [...new Set([name, 'localhost'])],
    ips: [...new Set(['127.0.0.1', '::1', ...ips])],
  })
  const [
    etcdServer,
    apiserverEtcdClient,
    frontProxyClient,
    apiserver,
    apiserverKubeletClient,
    admin,
    superAdmin,
    controllerManager,
    scheduler,
    kubelet,
    kubeletServing,
  ] = await Promise.all([
    leaf('etcd/server', etcdCa, {
      subject: { commonName: nodeName, organizations: [] },
      use: 'serverAuth',
      dns: [...new Set([nodeName, 'localhost'])],
      ips: ['127.0.0.1', '::1'],
    }),
    leaf('apiserver-etcd-client', etcdCa, { subject: { commonName: 'kube-apiserver-etcd-client', organizations: [] }, use: 'clientAuth' }),
    leaf('front-proxy-client', frontProxyCa, { subject: { commonName: 'front-proxy-client', organizations: [] }, use: 'clientAuth' }),
    leaf('apiserver', ca, {
      subject: { commonName: 'kube-apiserver', organizations: [] },
      use: 'serverAuth',
      dns: serverNames.filter((n) => !isAddress(n)),
      ips: serverNames.filter(isAddress),
    }),
    client('apiserver-kubelet-client', 'kube-apiserver-kubelet-client'),
    client('admin', 'kubernetes-admin', 'kubeadm:cluster-admins'),
    client('super-admin', 'kubernetes-super-admin', 'system:masters'),
    client('controller-manager', 'system:kube-controller-manager'),
    client('scheduler', 'system:kube-scheduler'),
    leaf('kubelet-client', ca, { subject: node(nodeName), use: 'clientAuth' }),
    leaf('kubelet', ca, serving(nodeName, hostIPs)),
  ])
  return {
    ca,
    frontProxyCa,
    etcdCa,
    etcdServer,
    apiserverEtcdClient,
    serviceAccount,
    frontProxyClient,
    apiserver,
    apiserverKubeletClient,
    admin,
    superAdmin,
    controllerManager,
    scheduler,
    kubelet,
    kubeletServing,
    nodeClient: (name) => issueKeyPair(template({ subject: node(name), use: 'clientAuth' }), signer(ca), random),
    nodeServing: (name, ips) => issueKeyPair(template(serving(name, ips)), signer(ca), random),
    client: (subject) => issueKeyPair(template({ subject, use: 'clientAuth' }), signer(ca), random),
  }
}

/** No name of DNS looks like one. */
const isAddress = (name: string): boolean => name.includes(':') || /^\d+(\.\d+){3}$/.test(name)

async function readPair(store: PkiStore, name: string): Promise<KeyPair | undefined> {
  const [certificate, key] = await Promise.all([store.read(`${name}.crt`), store.read(`${name}.key`)])
  return certificate === undefined || key === undefined ? undefined : { certificate, key }
}

/** The key is written first: a certificate without its key, left by a crash, counts as absent. */
async function writePair(store: PkiStore, name: string, pair: KeyPair): Promise<void> {
  await store.write(`${name}.key`, pair.key, true)
  await store.write(`${name}.crt`, pair.certificate, false)
}

function stillGood(pair: KeyPair, issuer: KeyObject, spec: LeafSpec, now: number): boolean {
  const certificate = new X509Certificate(pair.certificate)
  const { subject, notAfter, publicKey } = readCertificate(certificateDer(pair.certificate))
  if (notAfter - now < RENEW_BEFORE) return false
  if (subject.commonName !== spec.subject.commonName || subject.organizations.join() !== spec.subject.organizations.join()) return false
  if (!certificate.verify(issuer) || !belongs(pair.key, publicKey)) return false
  return (spec.dns ?? []).every((name) => certificate.checkHost(name)) && (spec.ips ?? []).every((ip) => certificate.checkIP(ip))
}

/** Bytes of a point of P-256 as it ends a public key. */
const POINT_BYTES = 65

/** Whether a private key is that of a public key (SubjectPublicKeyInfo). Keys are mostly written with their public half, which is faster to look at. */
function belongs(key: string, spki: Uint8Array): boolean {
  const der = decodePem(key)[0]?.bytes
  if (der && Buffer.from(der).includes(Buffer.from(spki.subarray(-POINT_BYTES)))) return true
  return Buffer.from(publicKeyDer(createPrivateKey(key))).equals(spki)
}

async function serviceAccountKeys(store: PkiStore): Promise<ServiceAccountKeys> {
  const [kept, pub] = await Promise.all([store.read('sa.key'), store.read('sa.pub')])
  const spki = pub === undefined ? undefined : decodePem(pub)[0]?.bytes
  if (kept !== undefined && pub !== undefined && spki && belongs(kept, spki)) return { privateKey: kept, publicKey: pub }
  if (kept !== undefined) return { privateKey: kept, publicKey: publicKeyPem(createPrivateKey(kept)) }
  const key = generateKey()
  const keys = { privateKey: privateKeyPem(key), publicKey: publicKeyPem(key) }
  await store.write('sa.key', keys.privateKey, true)
  await store.write('sa.pub', keys.publicKey, false)
  return keys
}
