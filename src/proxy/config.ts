import { load } from 'js-yaml'
import { durationMs } from '../apimachinery/duration.ts'
import { isCIDR } from './address.ts'

export type DetectLocalMode = 'ClusterCIDR' | 'NodeCIDR' | 'BridgeInterface' | 'InterfaceNamePrefix'

/** A KubeProxyConfiguration, complete and valid. */
export interface ProxyConfig {
  bindAddress: string
  clusterCIDRs: readonly string[]
  /** Paths and texts of the connection; '' = none given. */
  kubeconfig: string
  hostnameOverride: string
  /** `address:port`; '' = not served. */
  healthzBindAddress: string
  metricsBindAddress: string
  nodePortAddresses: readonly string[]
  masqueradeAll: boolean
  masqueradeBit: number
  /** After a failure the rules are written again within this time. */
  syncPeriodMs: number
  minSyncPeriodMs: number
  detectLocalMode: DetectLocalMode
  bridgeInterface: string
  interfaceNamePrefix: string
}

/** A configuration that cannot be used; every mistake is told. */
export class ProxyConfigError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ProxyConfigError'
  }
}

export const HEALTHZ_PORT = 10256
export const METRICS_PORT = 10249

const API_VERSION = 'kubeproxy.config.k8s.io/v1alpha1'
const FIELDS: ReadonlySet<string> = new Set(
  (
    'apiVersion kind featureGates bindAddress bindAddressHardFail clientConnection clusterCIDR configSyncPeriod conntrack detectLocal detectLocalMode ' +
    'enableProfiling healthzBindAddress hostnameOverride iptables ipvs logging metricsBindAddress mode nftables nodePortAddresses oomScoreAdj portRange ' +
    'showHiddenMetricsForVersion winkernel windowsRunAsService'
  ).split(' '),
)

type Fields = Record<string, unknown>

/**
 * Reads a KubeProxyConfiguration (kubeproxy.config.k8s.io/v1alpha1) in YAML or JSON and fills in what it does not say.
 * @param warn told of fields that have no meaning here
 * @throws ProxyConfigError
 */
export function parseProxyConfig(text: string, warn: (message: string) => void = () => {}): ProxyConfig {
  const raw = (load(text) ?? {}) as Fields
  if (typeof raw !== 'object' || Array.isArray(raw)) throw new ProxyConfigError("couldn't get version/kind; json parse error: the configuration is no object")
  if (raw['apiVersion'] !== undefined && (raw['apiVersion'] !== API_VERSION || raw['kind'] !== 'KubeProxyConfiguration'))
    throw new ProxyConfigError(`no kind ${JSON.stringify(raw['kind'] ?? '')} is registered for version ${JSON.stringify(raw['apiVersion'])}`)
  for (const name of Object.keys(raw)) if (!FIELDS.has(name)) warn(`unknown field ${JSON.stringify(name)}`)
  const errors: string[] = []
  const part = (of: Fields, name: string): Fields => (typeof of[name] === 'object' && of[name] !== null ? (of[name] as Fields) : {})
  const invalid = (path: string, value: unknown, why: string) => errors.push(`KubeProxyConfiguration.${path}: Invalid value: ${JSON.stringify(value)}: ${why}`)
  const string = (of: Fields, name: string): string => (typeof of[name] === 'string' ? (of[name] as string) : '')
  const duration = (of: Fields, path: string, name: string, fallback: number): number => {
    const value = of[name]
    if (value === undefined || value === null || value === '' || value === '0s' || value === 0) return fallback
    const ms = typeof value === 'string' ? durationMs(value) : undefined
    if (ms === undefined || ms <= 0) {
      invalid(`${path}.${name}`, value, 'must be greater than 0')
      return fallback
    }
    return ms
  }
  const mode = string(raw, 'mode')
  if (mode !== '' && mode !== 'nftables')
    errors.push(
      mode === 'iptables' || mode === 'ipvs'
        ? `KubeProxyConfiguration.mode: Unsupported value: ${JSON.stringify(mode)}: this kube-proxy has one mode: nftables`
        : `KubeProxyConfiguration.Mode: Invalid value: ${JSON.stringify(mode)}: must be iptables, ipvs, nftables or blank (blank means the best-available proxy [currently iptables])`,
    )
  const nft = part(raw, 'nftables')
  const detect = part(raw, 'detectLocal')
  const detectLocalMode = (string(raw, 'detectLocalMode') || 'ClusterCIDR') as DetectLocalMode
  if (!['ClusterCIDR', 'NodeCIDR', 'BridgeInterface', 'InterfaceNamePrefix'].includes(detectLocalMode))
    invalid('DetectLocalMode', detectLocalMode, 'must be ClusterCIDR, NodeCIDR, BridgeInterface, InterfaceNamePrefix or blank')
  const bridgeInterface = string(detect, 'bridgeInterface')
  const interfaceNamePrefix = string(detect, 'interfaceNamePrefix')
  for (const [wanted, name, value] of [
    ['BridgeInterface', 'bridgeInterface', bridgeInterface],
    ['InterfaceNamePrefix', 'interfaceNamePrefix', interfaceNamePrefix],
  ] as const)
    if (detectLocalMode === wanted && !/^[\w.-]{1,15}$/.test(value)) invalid(`DetectLocal.${name}`, value, 'must be the name of an interface')
  const clusterCIDRs = string(raw, 'clusterCIDR')
    .split(',')
    .filter((c) => c !== '')
  if (clusterCIDRs.length > 2 || clusterCIDRs.some((c) => !isCIDR(c, 'IPv4') && !isCIDR(c, 'IPv6')))
    invalid('ClusterCIDR', string(raw, 'clusterCIDR'), 'must be a valid CIDR block (e.g. 10.100.0.0/16 or FD02::0:0:0/96)')
  const nodePortAddresses = Array.isArray(raw['nodePortAddresses']) ? raw['nodePortAddresses'].map(String) : []
  nodePortAddresses.forEach((a, i) => {
    if (a !== 'primary' && !isCIDR(a, 'IPv4') && !isCIDR(a, 'IPv6')) invalid(`NodePortAddresses[${i}]`, a, 'must be a valid CIDR or "primary"')
    else if (a === 'primary' && nodePortAddresses.length > 1) invalid(`NodePortAddresses[${i}]`, a, "can't use both 'primary' and CIDRs")
  })
  const bit = nft['masqueradeBit'] ?? 14
  if (typeof bit !== 'number' || !Number.isInteger(bit) || bit < 0 || bit > 31) invalid('NFTables.MasqueradeBit', bit, 'must be within the range [0, 31]')
  const config: ProxyConfig = {
    bindAddress: string(raw, 'bindAddress') || '0.0.0.0',
    clusterCIDRs,
    kubeconfig: string(part(raw, 'clientConnection'), 'kubeconfig'),
    hostnameOverride: string(raw, 'hostnameOverride'),
    healthzBindAddress: withPort(string(raw, 'healthzBindAddress'), '0.0.0.0', HEALTHZ_PORT),
    metricsBindAddress: withPort(string(raw, 'metricsBindAddress'), '127.0.0.1', METRICS_PORT),
    nodePortAddresses,
    masqueradeAll: nft['masqueradeAll'] === true,
    masqueradeBit: Number(bit),
    syncPeriodMs: duration(nft, 'NFTables', 'syncPeriod', 30_000),
    minSyncPeriodMs: duration(nft, 'NFTables', 'minSyncPeriod', 1000),
    detectLocalMode,
    bridgeInterface,
    interfaceNamePrefix,
  }
  for (const [name, value] of [
    ['HealthzBindAddress', config.healthzBindAddress],
    ['MetricsBindAddress', config.metricsBindAddress],
  ] as const)
    if (!parseHostPort(value)) invalid(name, value, 'must be IP:port')
  if (config.syncPeriodMs < config.minSyncPeriodMs)
    invalid('NFTables.SyncPeriod', nft['minSyncPeriod'], 'must be greater than or equal to NFTables.MinSyncPeriod')
  if (errors.length > 0) throw new ProxyConfigError(errors.length === 1 ? (errors[0] as string) : `[${errors.join(', ')}]`)
  return config
}

/** An address without a port gets the usual one. */
export function withPort(address: string, host: string, port: number): string {
  if (address === '') return `${host}:${port}`
  if (parseHostPort(address)) return address
  return address.includes(':') ? `[${address.replace(/^\[|\]$/g, '')}]:${port}` : `${address}:${port}`
}

export function parseHostPort(text: string): { host: string; port: number } | undefined {
  const m = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text)
  return m && Number(m[3]) < 65_536 ? { host: (m[1] ?? m[2]) as string, port: Number(m[3]) } : undefined
}
