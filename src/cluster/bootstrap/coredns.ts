import { resources } from '../../api/index.ts'
import { isAlreadyExists, isNotFound } from '../../apimachinery/errors.ts'
import type { KubeObject, ResourceHandle } from '../../apimachinery/object.ts'
import type { Client } from '../../client/client.ts'

/** The image by which Pods ask for cluster DNS. */
export const COREDNS_IMAGE = 'registry.k8s.io/coredns/coredns'
const TAG = 'v1.14.2'
const RBAC = 'rbac.authorization.k8s.io'

/** The configuration that kubeadm gives it. */
const COREFILE = `.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    reload
    loadbalance
}
`

export interface CoreDnsOptions {
  /** Of the Service. */
  clusterIP: string
  /** Only nodes of the control plane can run it: other nodes have no server behind their Pods. */
  onControlPlane: boolean
}

/**
 * The objects of cluster DNS as kubeadm makes them, but one replica: a cluster of one machine has no second place for another. The last one
 * tells that all were made.
 */
export function coreDnsObjects(o: CoreDnsOptions): { handle: ResourceHandle; object: KubeObject }[] {
  const { serviceaccounts, configmaps, services } = resources.corev1
  const out: { handle: ResourceHandle; object: KubeObject }[] = []
  const add = (handle: ResourceHandle, metadata: KubeObject['metadata'], rest: object) =>
    out.push({ handle, object: { apiVersion: handle.group ? `${handle.group}/${handle.version}` : handle.version, kind: handle.kind, metadata, ...rest } })
  const namespace = 'kube-system'
  const labels = { 'k8s-app': 'kube-dns' }
  add(serviceaccounts, { name: 'coredns', namespace }, {})
  add(configmaps, { name: 'coredns', namespace }, { data: { Corefile: COREFILE } })
  add(
    resources.rbacv1.clusterroles,
    { name: 'system:coredns' },
    {
      rules: [
        { verbs: ['list', 'watch'], apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces'] },
        { verbs: ['list', 'watch'], apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'] },
      ],
    },
  )
  add(
    services,
    {
      name: 'kube-dns',
      namespace,
      labels: { ...labels, 'kubernetes.io/cluster-service': 'true', 'kubernetes.io/name': 'CoreDNS' },
      annotations: { 'prometheus.io/port': '9153', 'prometheus.io/scrape': 'true' },
    },
    {
      spec: {
        clusterIP: o.clusterIP,
        selector: labels,
        ports: [
          { name: 'dns', port: 53, protocol: 'UDP', targetPort: 53 },
          { name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: 53 },
          { name: 'metrics', port: 9153, protocol: 'TCP', targetPort: 9153 },
        ],
      },
    },
  )
  add(resources.appsv1.deployments, { name: 'coredns', namespace, labels }, { spec: deploymentSpec(labels, o) })
  add(
    resources.rbacv1.clusterrolebindings,
    { name: 'system:coredns' },
    { roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'system:coredns' }, subjects: [{ kind: 'ServiceAccount', name: 'coredns', namespace }] },
  )
  return out
}

function deploymentSpec(labels: Record<string, string>, o: CoreDnsOptions): object {
  return {
    replicas: 1,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } },
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        priorityClassName: 'system-cluster-critical',
        serviceAccountName: 'coredns',
        dnsPolicy: 'Default',
        nodeSelector: { 'kubernetes.io/os': 'linux', ...(o.onControlPlane ? { 'node-role.kubernetes.io/control-plane': '' } : {}) },
        tolerations: [
          { key: 'CriticalAddonsOnly', operator: 'Exists' },
          { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' },
        ],
        affinity: {
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              {
                weight: 100,
                podAffinityTerm: {
                  topologyKey: 'kubernetes.io/hostname',
                  labelSelector: { matchExpressions: [{ key: 'k8s-app', operator: 'In', values: ['kube-dns'] }] },
                },
              },
            ],
          },
        },
        containers: [
          {
            name: 'coredns',
            image: `${COREDNS_IMAGE}:${TAG}`,
            imagePullPolicy: 'IfNotPresent',
            args: ['-conf', '/etc/coredns/Corefile'],
            resources: { limits: { memory: '170Mi' }, requests: { cpu: '100m', memory: '70Mi' } },
            volumeMounts: [{ name: 'config-volume', mountPath: '/etc/coredns', readOnly: true }],
            ports: [
              { name: 'dns', containerPort: 53, protocol: 'UDP' },
              { name: 'dns-tcp', containerPort: 53, protocol: 'TCP' },
              { name: 'metrics', containerPort: 9153, protocol: 'TCP' },
              { name: 'liveness-probe', containerPort: 8080, protocol: 'TCP' },
              { name: 'readiness-probe', containerPort: 8181, protocol: 'TCP' },
            ],
            livenessProbe: {
              httpGet: { path: '/health', port: 'liveness-probe', scheme: 'HTTP' },
              initialDelaySeconds: 60,
              timeoutSeconds: 5,
              successThreshold: 1,
              failureThreshold: 5,
            },
            readinessProbe: { httpGet: { path: '/ready', port: 'readiness-probe', scheme: 'HTTP' } },
            securityContext: {
              allowPrivilegeEscalation: false,
              capabilities: { add: ['NET_BIND_SERVICE'], drop: ['ALL'] },
              readOnlyRootFilesystem: true,
            },
          },
        ],
        volumes: [{ name: 'config-volume', configMap: { name: 'coredns', items: [{ key: 'Corefile', path: 'Corefile' }] } }],
      },
    },
  }
}

/** Makes cluster DNS, once: what its owner takes away later stays away. */
export async function ensureCoreDns(client: Client, o: CoreDnsOptions): Promise<void> {
  const wanted = coreDnsObjects(o)
  const last = wanted.pop() as (typeof wanted)[number]
  const made = await client
    .resource(last.handle)
    .get(last.object.metadata.name as string)
    .catch((e: unknown) => {
      if (!isNotFound(e)) throw e
      return undefined
    })
  if (made) return
  for (const { handle, object } of [...wanted, last]) {
    await client
      .resource(handle)
      .namespace(object.metadata.namespace)
      .create(object)
      .catch((e: unknown) => {
        if (!isAlreadyExists(e)) throw e
      })
  }
}
