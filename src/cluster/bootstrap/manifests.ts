import { version } from '../../component-base/index.ts'

/** What the static Pods of a control plane are made from. */
export interface ManifestOptions {
  /** Host folder of certificates and keys. */
  pkiDir: string
  /** Host folder of the store's files. */
  etcdDataDir: string
  /** Host folder of the components' kubeconfigs. */
  kubeconfigDir: string
  bindAddress: string
  /** Address at which nodes and Pods reach the API server. */
  advertiseAddress: string
  securePort: number
  etcdPort: number
  nodeName: string
  serviceClusterIPRange: string
  clusterCIDR: string
}

interface Component {
  name: string
  image: string
  cpu: string
  memory?: string
  flags: string[]
  volumes: { name: string; hostPath: string; mountPath: string; type: string; readOnly: boolean }[]
}

const PKI = '/etc/kubernetes/pki'

/** File name to YAML text of the four static Pods, shaped as kubeadm's. */
export function controlPlaneManifests(o: ManifestOptions): Map<string, string> {
  const certs = { name: 'k8s-certs', hostPath: o.pkiDir, mountPath: PKI, type: 'DirectoryOrCreate', readOnly: true }
  const kubeconfig = (file: string) => ({
    name: 'kubeconfig',
    hostPath: `${o.kubeconfigDir}/${file}`,
    mountPath: `/etc/kubernetes/${file}`,
    type: 'FileOrCreate',
    readOnly: true,
  })
  const etcd = `https://127.0.0.1:${o.etcdPort}`
  const tag = version.gitVersion.split('+')[0]
  const components: Component[] = [
    {
      name: 'etcd',
      image: 'registry.k8s.io/etcd:3.6.8-0',
      cpu: '100m',
      memory: '100Mi',
      flags: [
        `--advertise-client-urls=${etcd}`,
        `--cert-file=${PKI}/etcd/server.crt`,
        '--client-cert-auth=true',
        '--data-dir=/var/lib/etcd',
        `--key-file=${PKI}/etcd/server.key`,
        `--listen-client-urls=${etcd}`,
        `--name=${o.nodeName}`,
        `--trusted-ca-file=${PKI}/etcd/ca.crt`,
      ],
      volumes: [
        { name: 'etcd-certs', hostPath: `${o.pkiDir}/etcd`, mountPath: `${PKI}/etcd`, type: 'DirectoryOrCreate', readOnly: false },
        { name: 'etcd-data', hostPath: o.etcdDataDir, mountPath: '/var/lib/etcd', type: 'DirectoryOrCreate', readOnly: false },
      ],
    },
    {
      name: 'kube-apiserver',
      image: `registry.k8s.io/kube-apiserver:${tag}`,
      cpu: '250m',
      flags: [
        `--advertise-address=${o.advertiseAddress}`,
        '--allow-privileged=true',
        '--authorization-mode=Node,RBAC',
        `--bind-address=${o.bindAddress}`,
        `--client-ca-file=${PKI}/ca.crt`,
        '--enable-admission-plugins=NodeRestriction',
        `--etcd-cafile=${PKI}/etcd/ca.crt`,
        `--etcd-certfile=${PKI}/apiserver-etcd-client.crt`,
        `--etcd-keyfile=${PKI}/apiserver-etcd-client.key`,
        `--etcd-servers=${etcd}`,
        `--kubelet-client-certificate=${PKI}/apiserver-kubelet-client.crt`,
        `--kubelet-client-key=${PKI}/apiserver-kubelet-client.key`,
        '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
        `--proxy-client-cert-file=${PKI}/front-proxy-client.crt`,
        `--proxy-client-key-file=${PKI}/front-proxy-client.key`,
        '--requestheader-allowed-names=front-proxy-client',
        `--requestheader-client-ca-file=${PKI}/front-proxy-ca.crt`,
        '--requestheader-extra-headers-prefix=X-Remote-Extra-',
        '--requestheader-group-headers=X-Remote-Group',
        '--requestheader-username-headers=X-Remote-User',
        `--secure-port=${o.securePort}`,
        '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
        `--service-account-key-file=${PKI}/sa.pub`,
        `--service-account-signing-key-file=${PKI}/sa.key`,
        `--service-cluster-ip-range=${o.serviceClusterIPRange}`,
        `--tls-cert-file=${PKI}/apiserver.crt`,
        `--tls-private-key-file=${PKI}/apiserver.key`,
      ],
      volumes: [certs],
    },
    {
      name: 'kube-controller-manager',
      image: `registry.k8s.io/kube-controller-manager:${tag}`,
      cpu: '200m',
      flags: [
        '--allocate-node-cidrs=true',
        '--authentication-kubeconfig=/etc/kubernetes/controller-manager.conf',
        '--authorization-kubeconfig=/etc/kubernetes/controller-manager.conf',
        '--bind-address=127.0.0.1',
        `--client-ca-file=${PKI}/ca.crt`,
        `--cluster-cidr=${o.clusterCIDR}`,
        '--cluster-name=kubernetes',
        `--cluster-signing-cert-file=${PKI}/ca.crt`,
        `--cluster-signing-key-file=${PKI}/ca.key`,
        '--controllers=*,bootstrapsigner,tokencleaner',
        '--kubeconfig=/etc/kubernetes/controller-manager.conf',
        '--leader-elect=true',
        `--root-ca-file=${PKI}/ca.crt`,
        `--service-account-private-key-file=${PKI}/sa.key`,
        `--service-cluster-ip-range=${o.serviceClusterIPRange}`,
        '--use-service-account-credentials=true',
      ],
      volumes: [certs, kubeconfig('controller-manager.conf')],
    },
    {
      name: 'kube-scheduler',
      image: `registry.k8s.io/kube-scheduler:${tag}`,
      cpu: '100m',
      flags: [
        '--authentication-kubeconfig=/etc/kubernetes/scheduler.conf',
        '--authorization-kubeconfig=/etc/kubernetes/scheduler.conf',
        '--bind-address=127.0.0.1',
        '--kubeconfig=/etc/kubernetes/scheduler.conf',
        '--leader-elect=true',
      ],
      volumes: [kubeconfig('scheduler.conf')],
    },
  ]
  return new Map(components.map((c) => [`${c.name}.yaml`, manifest(c)]))
}

function manifest(c: Component): string {
  const volumes = [...c.volumes].sort((a, b) => (a.name < b.name ? -1 : 1))
  return `apiVersion: v1
kind: Pod
metadata:
  labels:
    component: ${c.name}
    tier: control-plane
  name: ${c.name}
  namespace: kube-system
spec:
  containers:
  - command:
    - ${c.name}
${c.flags.map((f) => `    - ${f}\n`).join('')}    image: ${c.image}
    imagePullPolicy: IfNotPresent
    name: ${c.name}
    resources:
      requests:
        cpu: ${c.cpu}
${c.memory ? `        memory: ${c.memory}\n` : ''}    volumeMounts:
${volumes.map((v) => `    - mountPath: ${v.mountPath}\n      name: ${v.name}\n${v.readOnly ? '      readOnly: true\n' : ''}`).join('')}  hostNetwork: true
  priority: 2000001000
  priorityClassName: system-node-critical
  securityContext:
    seccompProfile:
      type: RuntimeDefault
  volumes:
${volumes.map((v) => `  - hostPath:\n      path: ${quoted(v.hostPath)}\n      type: ${v.type}\n    name: ${v.name}\n`).join('')}status: {}
`
}

const quoted = (path: string) => (/^[\w./-]+$/.test(path) ? path : JSON.stringify(path))
