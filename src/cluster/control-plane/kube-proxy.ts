import { type FlagSpecs, type ParsedFlags, parseFlags, UsageError } from '../../component-base/flags/index.ts'
import { type ComponentContext, userAgent } from '../../component-base/index.ts'
import type { ProxyConfig } from '../../proxy/config.ts'
import { componentClient, serviceAccountUser } from './component-client.ts'
import type { ControlPlaneEnvironment, FileReader } from './environment.ts'
import { commonFlags } from './klog-flags.ts'

export const proxyFlags: FlagSpecs = {
  'bind-address': {
    kind: 'string',
    usage: "Overrides kube-proxy's idea of what its node's primary IP is. This parameter is ignored if a config file is specified by --config.",
    default: '0.0.0.0',
    value: 'ip',
  },
  cleanup: { kind: 'bool', usage: 'If true cleanup nftables rules and exit.' },
  'cluster-cidr': {
    kind: 'string',
    usage:
      'The CIDR range of the pods in the cluster. Traffic that does not come from it is masqueraded when it is sent to a Service cluster IP. This parameter is ignored if a config file is specified by --config.',
  },
  config: { kind: 'string', usage: 'The path to the configuration file.' },
  'detect-local-mode': {
    kind: 'string',
    usage: 'Mode to use to detect local traffic. This parameter is ignored if a config file is specified by --config.',
    value: 'LocalMode',
  },
  'healthz-bind-address': {
    kind: 'string',
    usage: 'The IP address and port for the health check server to serve on. This parameter is ignored if a config file is specified by --config.',
    default: '0.0.0.0:10256',
    value: 'ipport',
  },
  'hostname-override': { kind: 'string', usage: 'If non-empty, will be used as the name of the Node that kube-proxy is running on.' },
  kubeconfig: { kind: 'string', usage: 'Path to kubeconfig file with authorization information (the master location can be overridden by the master flag).' },
  'masquerade-all': {
    kind: 'bool',
    usage: 'SNAT all traffic sent via Service cluster IPs. This parameter is ignored if a config file is specified by --config.',
  },
  master: { kind: 'string', usage: 'The address of the Kubernetes API server (overrides any value in kubeconfig)' },
  'metrics-bind-address': {
    kind: 'string',
    usage: 'The IP address and port for the metrics server to serve on. This parameter is ignored if a config file is specified by --config.',
    default: '127.0.0.1:10249',
    value: 'ipport',
  },
  'nodeport-addresses': {
    kind: 'list',
    usage:
      "A list of CIDR ranges that contain valid node IPs, or alternatively, the single string 'primary'. This parameter is ignored if a config file is specified by --config.",
  },
  'pod-bridge-interface': { kind: 'string', usage: 'A bridge interface name. With --detect-local-mode=BridgeInterface, traffic from it is considered local.' },
  'pod-interface-name-prefix': { kind: 'string', usage: 'An interface name prefix, for --detect-local-mode=InterfaceNamePrefix.' },
  'proxy-mode': { kind: 'string', usage: "Which proxy mode to use: 'nftables', which is also what '' means.", value: 'ProxyMode' },
  ...commonFlags,
}

/** Routes the addresses of Services on this machine until the signal aborts. */
export async function runKubeProxy(
  context: ComponentContext,
  argv: readonly string[],
  environment: ControlPlaneEnvironment,
  files: FileReader & { hostPath(path: string): string },
): Promise<void> {
  const flags = parseFlags(proxyFlags, argv, { singleDash: true })
  const { log } = context
  // With simulated nodes nobody needs it: its code is loaded when it runs.
  const { parseProxyConfig, removeProxyTables, runProxy } = await import('../../proxy/index.ts')
  if (flags.bool('cleanup')) return removeProxyTables()
  const text = flags.string('config') ? await files.read(flags.string('config')) : JSON.stringify(configOfFlags(flags))
  const config: ProxyConfig = parseProxyConfig(text, (message) => log.warn('configuration', { warning: message }))
  const path = config.kubeconfig || flags.string('kubeconfig')
  if (path === '') throw new UsageError('--kubeconfig must be specified')
  const kubeconfig = hostPaths(await files.read(path), files)
  const connection = componentClient({
    kubeconfig: flags.string('master') ? kubeconfig.replace(/^(\s*server:).*$/m, `$1 ${flags.string('master')}`) : kubeconfig,
    apiServers: environment.apiServers,
    clock: context.clock,
    userAgent: userAgent('kube-proxy'),
    inProcess: environment.inProcess,
    // Who writes the kubeconfig does not choose whom the Pod of this process is.
    ...(environment.inProcess && /^\s*tokenFile:/m.test(kubeconfig) ? { user: serviceAccountUser('kube-proxy') } : {}),
  })
  try {
    await runProxy(context, {
      client: connection.client,
      config,
      nodeName: flags.string('hostname-override') || config.hostnameOverride || environment.hostname,
    })
  } finally {
    connection.revoke()
  }
}

function configOfFlags(flags: ParsedFlags): object {
  return {
    bindAddress: flags.string('bind-address'),
    clusterCIDR: flags.string('cluster-cidr'),
    detectLocalMode: flags.string('detect-local-mode'),
    detectLocal: { bridgeInterface: flags.string('pod-bridge-interface'), interfaceNamePrefix: flags.string('pod-interface-name-prefix') },
    healthzBindAddress: flags.string('healthz-bind-address'),
    metricsBindAddress: flags.string('metrics-bind-address'),
    mode: flags.string('proxy-mode'),
    nodePortAddresses: flags.list('nodeport-addresses'),
    nftables: { masqueradeAll: flags.bool('masquerade-all') },
  }
}

/** A kubeconfig names files as its container sees them. */
function hostPaths(kubeconfig: string, files: { hostPath(path: string): string }): string {
  return kubeconfig.replace(
    /^(\s*(?:certificate-authority|client-certificate|client-key|tokenFile):\s*)(\/\S+)\s*$/gm,
    (_, key, path) => key + files.hostPath(path),
  )
}
