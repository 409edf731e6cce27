import { type FlagSpecs, parseFlags, UsageError } from '../../component-base/flags/index.ts'
import { type ComponentContext, createFeatureGates, parseFeatureGates, userAgent } from '../../component-base/index.ts'
import { runControllerManager } from '../../controllers/index.ts'
import { componentClient } from './component-client.ts'
import type { ControlPlaneEnvironment, FileReader } from './environment.ts'
import { commonFlags, componentConnectionFlags } from './klog-flags.ts'

export const controllerManagerFlags: FlagSpecs = {
  'allocate-node-cidrs': { kind: 'bool', usage: 'Should CIDRs for Pods be allocated and set on the cloud provider.', default: 'false' },
  'cluster-cidr': { kind: 'string', usage: 'CIDR Range for Pods in cluster.' },
  'cluster-name': { kind: 'string', usage: 'The instance prefix for the cluster.', default: 'kubernetes' },
  'cluster-signing-cert-file': { kind: 'string', usage: 'Filename containing a PEM-encoded X509 CA certificate used to issue cluster-scoped certificates.' },
  'cluster-signing-key-file': { kind: 'string', usage: 'Filename containing a PEM-encoded RSA or ECDSA private key used to sign cluster-scoped certificates.' },
  'cluster-signing-duration': { kind: 'duration', usage: 'The max length of duration signed certificates will be given.', default: '8760h' },
  controllers: {
    kind: 'list',
    usage: "A list of controllers to enable. '*' enables all on-by-default controllers, 'foo' enables the controller named 'foo', '-foo' disables it.",
    default: '*',
  },
  'node-cidr-mask-size': { kind: 'int', usage: 'Mask size for node cidr in cluster.', default: '24' },
  'node-monitor-grace-period': {
    kind: 'duration',
    usage: 'Amount of time which we allow running Node to be unresponsive before marking it unhealthy.',
    default: '50s',
  },
  'node-monitor-period': { kind: 'duration', usage: 'The period for syncing NodeStatus.', default: '5s' },
  'node-startup-grace-period': {
    kind: 'duration',
    usage: 'Amount of time which we allow starting Node to be unresponsive before marking it unhealthy.',
    default: '1m',
  },
  'root-ca-file': { kind: 'string', usage: "If set, this root certificate authority will be included in service account's token secret." },
  'service-account-private-key-file': {
    kind: 'string',
    usage: 'Filename containing a PEM-encoded private RSA or ECDSA key used to sign service account tokens.',
  },
  'service-cluster-ip-range': { kind: 'string', usage: 'CIDR Range for Services in cluster.' },
  'terminated-pod-gc-threshold': {
    kind: 'int',
    usage: 'Number of terminated pods that can exist before the terminated pod garbage collector starts deleting terminated pods.',
    default: '12500',
  },
  'use-service-account-credentials': { kind: 'bool', usage: 'If true, use individual service account credentials for each controller.', default: 'false' },
  'secure-port': { kind: 'int', usage: 'The port on which to serve HTTPS with authentication and authorization.', default: '10257' },
  ...componentConnectionFlags,
  ...commonFlags,
}

/** Runs the controllers until the signal aborts. */
export async function runKubeControllerManager(
  context: ComponentContext,
  argv: readonly string[],
  environment: ControlPlaneEnvironment,
  files: FileReader,
): Promise<void> {
  const flags = parseFlags(controllerManagerFlags, argv, { singleDash: true })
  if (flags.string('kubeconfig') === '') throw new UsageError('--kubeconfig must be specified')
  const read = async (name: string): Promise<string | undefined> => (flags.string(name) === '' ? undefined : files.read(flags.string(name)))
  const { clock } = context
  const connection = componentClient({
    kubeconfig: await files.read(flags.string('kubeconfig')),
    apiServers: environment.apiServers,
    clock,
    userAgent: userAgent('kube-controller-manager'),
    inProcess: environment.inProcess,
  })
  const [rootCA, saKey, signingCert, signingKey] = await Promise.all([
    read('root-ca-file'),
    read('service-account-private-key-file'),
    read('cluster-signing-cert-file'),
    read('cluster-signing-key-file'),
  ])
  try {
    await runControllerManager({
      ...context,
      client: connection.client,
      gates: createFeatureGates(parseFeatureGates(flags.list('feature-gates').join(','))),
      options: {
        controllers: flags.list('controllers'),
        hostname: environment.hostname,
        leaderElect: flags.bool('leader-elect'),
        leaderElectLeaseDurationMs: flags.duration('leader-elect-lease-duration'),
        leaderElectRenewDeadlineMs: flags.duration('leader-elect-renew-deadline'),
        leaderElectRetryPeriodMs: flags.duration('leader-elect-retry-period'),
        ...(rootCA ? { rootCA } : {}),
        ...(saKey ? { serviceAccountPrivateKey: saKey } : {}),
        ...(signingCert ? { clusterSigningCertificate: signingCert } : {}),
        ...(signingKey ? { clusterSigningKey: signingKey } : {}),
        clusterSigningDurationMs: flags.duration('cluster-signing-duration'),
        allocateNodeCidrs: flags.bool('allocate-node-cidrs'),
        ...(flags.string('cluster-cidr') ? { clusterCidr: flags.string('cluster-cidr') } : {}),
        nodeCidrMaskSizeIPv4: flags.int('node-cidr-mask-size'),
        ...(flags.string('service-cluster-ip-range') ? { serviceClusterIPRange: flags.string('service-cluster-ip-range') } : {}),
        nodeMonitorPeriodMs: flags.duration('node-monitor-period'),
        nodeMonitorGracePeriodMs: flags.duration('node-monitor-grace-period'),
        nodeStartupGracePeriodMs: flags.duration('node-startup-grace-period'),
        terminatedPodGCThreshold: flags.int('terminated-pod-gc-threshold'),
        ...(flags.bool('use-service-account-credentials') ? { clientFor: (account: string) => connection.asServiceAccount(account) } : {}),
      },
    })
  } finally {
    connection.revoke()
  }
}
