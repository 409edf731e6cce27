import { type FlagSpecs, parseFlags, UsageError } from '../../component-base/flags/index.ts'
import { type ComponentContext, userAgent } from '../../component-base/index.ts'
import { createKubelet, createSimulatedRuntime, delegatedAuth, KubeletApi, serveKubelet, systemMounter } from '../../kubelet/index.ts'
import { createCriRuntime } from '../../kubelet/runtimes/cri/index.ts'
import { componentClient } from './component-client.ts'
import type { ControlPlaneEnvironment, FileReader } from './environment.ts'
import { commonFlags } from './klog-flags.ts'

export const kubeletFlags: FlagSpecs = {
  address: { kind: 'string', usage: 'The IP address for the Kubelet to serve on', default: '0.0.0.0', value: 'ip' },
  'client-ca-file': {
    kind: 'string',
    usage: 'If set, any request presenting a client certificate signed by one of the authorities in the client-ca-file is authenticated',
  },
  'cluster-dns': { kind: 'list', usage: 'Comma-separated list of DNS server IP address.' },
  'cluster-domain': { kind: 'string', usage: 'Domain for this cluster.', default: 'cluster.local' },
  'container-runtime-endpoint': {
    kind: 'string',
    usage: 'The endpoint of container runtime service; "simulated" runs Pods without processes.',
    default: 'unix:///run/containerd/containerd.sock',
  },
  'hostname-override': { kind: 'string', usage: 'If non-empty, will use this string as identification instead of the actual hostname.' },
  kubeconfig: { kind: 'string', usage: 'Path to a kubeconfig file, specifying how to connect to the API server.' },
  'max-pods': { kind: 'int', usage: 'Number of Pods that can run on this Kubelet.', default: '110' },
  'node-ip': { kind: 'list', usage: 'IP address (or comma-separated dual-stack IP addresses) of the node.' },
  'node-labels': { kind: 'list', usage: 'Labels to add when registering the node in the cluster.', value: 'mapStringString' },
  'pod-manifest-path': { kind: 'string', usage: 'Path to the directory containing static pod files to run.' },
  port: { kind: 'int', usage: 'The port for the Kubelet to serve on.', default: '10250' },
  'register-node': { kind: 'bool', usage: 'Register the node with the apiserver.', default: 'true' },
  'root-dir': { kind: 'string', usage: 'Directory path for managing kubelet files (volume mounts, etc).', default: '/var/lib/kubelet' },
  'pod-log-dir': { kind: 'string', usage: "Directory of Pods' logs.", default: '/var/log/pods' },
  'tls-cert-file': { kind: 'string', usage: 'File containing x509 Certificate used for serving HTTPS.' },
  'tls-private-key-file': { kind: 'string', usage: 'File containing x509 private key matching --tls-cert-file.' },
  ...commonFlags,
}

/** Runs the agent of one node until the signal aborts. */
export async function runKubelet(
  context: ComponentContext,
  argv: readonly string[],
  environment: ControlPlaneEnvironment,
  files: FileReader & { hostPath(path: string): string },
): Promise<void> {
  const flags = parseFlags(kubeletFlags, argv, { singleDash: true })
  if (flags.string('kubeconfig') === '') throw new UsageError('--kubeconfig must be specified')
  const { clock, random, log, signal } = context
  const connection = componentClient({
    kubeconfig: await files.read(flags.string('kubeconfig')),
    apiServers: environment.apiServers,
    clock,
    userAgent: userAgent('kubelet'),
    inProcess: false,
  })
  const endpoint = flags.string('container-runtime-endpoint')
  const runtime = endpoint === 'simulated' ? createSimulatedRuntime({ clock, random }) : await createCriRuntime(endpoint)
  const nodeName = flags.string('hostname-override') || environment.hostname
  const nodeIPs = flags.list('node-ip')
  const kubelet = createKubelet({
    nodeName,
    client: connection.client,
    runtime,
    clock,
    random,
    log,
    rootDir: flags.string('root-dir'),
    logDir: flags.string('pod-log-dir'),
    ...(flags.string('pod-manifest-path') ? { staticPodPath: flags.string('pod-manifest-path') } : {}),
    ...(nodeIPs.length > 0 ? { nodeIPs } : {}),
    nodeLabels: Object.fromEntries(flags.list('node-labels').map((l) => [l.slice(0, l.indexOf('=')), l.slice(l.indexOf('=') + 1)])),
    registerNode: flags.bool('register-node'),
    maxPods: flags.int('max-pods'),
    clusterDNS: flags.list('cluster-dns'),
    clusterDomain: flags.string('cluster-domain'),
    port: flags.int('port'),
    ...(endpoint === 'simulated' ? {} : { mounter: systemMounter() }),
  })
  const certificate = flags.string('tls-cert-file')
  const server =
    certificate === ''
      ? undefined
      : await serveKubelet({
          api: new KubeletApi({ kubelet }),
          auth: delegatedAuth(connection.client, clock, nodeName),
          log,
          certificate: await files.read(certificate),
          key: await files.read(flags.string('tls-private-key-file')),
          ...(flags.string('client-ca-file') ? { clientCA: await files.read(flags.string('client-ca-file')) } : {}),
          host: flags.string('address'),
          port: flags.int('port'),
        })
  if (!server) log.warn('the kubelet serves no logs and streams: --tls-cert-file and --tls-private-key-file are not given')
  try {
    await kubelet.run(signal)
  } finally {
    await server?.close()
    connection.revoke()
    if ('close' in runtime) runtime.close()
  }
}
