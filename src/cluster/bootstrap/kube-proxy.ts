import { type appsv1, type corev1, resources } from '../../api/index.ts'
import { isAlreadyExists } from '../../apimachinery/errors.ts'
import type { Client } from '../../client/client.ts'
import { version } from '../../component-base/index.ts'

export interface KubeProxyOptions {
  /** URL of the API server, for Pods of the host's network. */
  server: string
  clusterCIDR: string
  /** Address of the host-only interface: nothing is served to other machines. */
  healthzBindAddress: string
}

const NAMESPACE = 'kube-system'
const NAME = 'kube-proxy'
const SECRETS = '/var/run/secrets/kubernetes.io/serviceaccount'
const CONFIG_DIR = '/var/lib/kube-proxy'

/** What kubeadm adds to a cluster for its service proxy: account, configuration and DaemonSet. */
export function kubeProxyObjects(o: KubeProxyOptions): {
  account: corev1.ServiceAccount
  config: corev1.ConfigMap
  daemonSet: Omit<appsv1.DaemonSet, 'status'>
} {
  const labels = { 'k8s-app': NAME }
  return {
    account: { metadata: { name: NAME, namespace: NAMESPACE } },
    config: {
      metadata: { name: NAME, namespace: NAMESPACE, labels: { app: NAME } },
      data: { 'config.conf': configuration(o), 'kubeconfig.conf': kubeconfig(o.server) },
    },
    daemonSet: {
      metadata: { name: NAME, namespace: NAMESPACE, labels },
      spec: {
        selector: { matchLabels: labels },
        updateStrategy: { type: 'RollingUpdate' },
        template: {
          metadata: { labels },
          spec: {
            priorityClassName: 'system-node-critical',
            containers: [
              {
                name: NAME,
                image: `registry.k8s.io/kube-proxy:${version.gitVersion.split('+')[0]}`,
                imagePullPolicy: 'IfNotPresent',
                resources: {},
                command: ['/usr/local/bin/kube-proxy', `--config=${CONFIG_DIR}/config.conf`, '--hostname-override=$(NODE_NAME)'],
                env: [{ name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
                securityContext: { privileged: true },
                volumeMounts: [
                  { name: NAME, mountPath: CONFIG_DIR },
                  { name: 'lib-modules', mountPath: '/lib/modules', readOnly: true },
                ],
              },
            ],
            hostNetwork: true,
            serviceAccountName: NAME,
            nodeSelector: { 'kubernetes.io/os': 'linux' },
            tolerations: [{ operator: 'Exists' }],
            volumes: [
              { name: NAME, configMap: { name: NAME } },
              { name: 'lib-modules', hostPath: { path: '/lib/modules', type: '' } },
            ],
          },
        },
      },
    },
  }
}

/** Makes what is missing of them; of what is there, the configuration's server is kept right. */
export async function ensureKubeProxy(client: Client, options: KubeProxyOptions): Promise<void> {
  const { account, config, daemonSet } = kubeProxyObjects(options)
  const tolerate = (e: unknown) => {
    if (!isAlreadyExists(e)) throw e
  }
  const inSystem = <T extends Parameters<Client['resource']>[0]>(handle: T) => client.resource(handle).namespace(NAMESPACE)
  await inSystem(resources.corev1.serviceaccounts).create(account).catch(tolerate)
  await inSystem(resources.corev1.configmaps)
    .create(config)
    .catch(async (e) => {
      tolerate(e)
      // The port may be another than at the last start.
      await inSystem(resources.corev1.configmaps).patch(NAME, 'merge', { data: { 'kubeconfig.conf': config.data?.['kubeconfig.conf'] } })
    })
  await inSystem(resources.appsv1.daemonsets)
    .create(daemonSet as appsv1.DaemonSet)
    .catch(tolerate)
}

/** Whether a Pod is the DaemonSet's: then k8ts's own component runs as its container. */
export function isKubeProxyPod(pod: corev1.Pod): boolean {
  const { metadata, spec } = pod
  const [container] = spec.containers
  return (
    metadata.namespace === NAMESPACE &&
    metadata.ownerReferences?.some((o) => o.controller === true && o.apiVersion === 'apps/v1' && o.kind === 'DaemonSet' && o.name === NAME) === true &&
    spec.serviceAccountName === NAME &&
    spec.containers.length === 1 &&
    /^registry\.k8s\.io\/kube-proxy[:@]/.test(container?.image ?? '') &&
    /(^|\/)kube-proxy$/.test(container?.command?.[0] ?? '')
  )
}

const configuration = (o: KubeProxyOptions) => `apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
clientConnection:
  kubeconfig: ${CONFIG_DIR}/kubeconfig.conf
clusterCIDR: ${o.clusterCIDR}
healthzBindAddress: ${o.healthzBindAddress}
kind: KubeProxyConfiguration
metricsBindAddress: ""
mode: nftables
`

const kubeconfig = (server: string) => `apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: ${SECRETS}/ca.crt
    server: ${server}
  name: default
contexts:
- context:
    cluster: default
    namespace: default
    user: default
  name: default
current-context: default
users:
- name: default
  user:
    tokenFile: ${SECRETS}/token
`
