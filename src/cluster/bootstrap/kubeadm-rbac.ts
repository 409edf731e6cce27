import { type rbacv1, resources } from '../../api/index.ts'
import { isAlreadyExists } from '../../apimachinery/errors.ts'
import { type KubeObject, objectKey, type ResourceHandle } from '../../apimachinery/object.ts'
import type { Client } from '../../client/client.ts'

const GROUP = 'rbac.authorization.k8s.io'
const BOOTSTRAPPERS = 'system:bootstrappers:kubeadm:default-node-token'
const NODES = 'system:nodes'

const group = (name: string): rbacv1.Subject => ({ kind: 'Group', apiGroup: GROUP, name })
const user = (name: string): rbacv1.Subject => ({ kind: 'User', apiGroup: GROUP, name })
const account = (name: string): rbacv1.Subject => ({ kind: 'ServiceAccount', name, namespace: 'kube-system' })

const clusterBindings: readonly (readonly [name: string, role: string, subject: rbacv1.Subject])[] = [
  ['kubeadm:cluster-admins', 'cluster-admin', group('kubeadm:cluster-admins')],
  ['kubeadm:apiserver-kubelet-client', 'system:kubelet-api-admin', user('kube-apiserver-kubelet-client')],
  ['kubeadm:kubelet-bootstrap', 'system:node-bootstrapper', group(BOOTSTRAPPERS)],
  ['kubeadm:node-autoapprove-bootstrap', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient', group(BOOTSTRAPPERS)],
  ['kubeadm:node-autoapprove-certificate-rotation', 'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient', group(NODES)],
  ['kubeadm:get-nodes', 'kubeadm:get-nodes', group(BOOTSTRAPPERS)],
  ['kubeadm:node-proxier', 'system:node-proxier', account('kube-proxy')],
]

/** Roles that let somebody get one ConfigMap, each with its binding of the same name. */
const configMapRoles: readonly (readonly [namespace: string, name: string, configMap: string, ...subjects: rbacv1.Subject[]])[] = [
  ['kube-public', 'kubeadm:bootstrap-signer-clusterinfo', 'cluster-info', user('system:anonymous')],
  ['kube-system', 'kubeadm:nodes-kubeadm-config', 'kubeadm-config', group(BOOTSTRAPPERS), group(NODES)],
  ['kube-system', 'kubeadm:kubelet-config', 'kubelet-config', group(BOOTSTRAPPERS), group(NODES)],
  ['kube-system', 'kube-proxy', 'kube-proxy', group(BOOTSTRAPPERS)],
]

/** The roles and bindings kubeadm adds to a cluster: its administrators, its nodes and those that want to join. */
export function kubeadmRbac(): { handle: ResourceHandle; object: KubeObject }[] {
  const { clusterroles, clusterrolebindings, roles, rolebindings } = resources.rbacv1
  const out: { handle: ResourceHandle; object: KubeObject }[] = []
  const add = (handle: ResourceHandle, metadata: KubeObject['metadata'], rest: object) =>
    out.push({ handle, object: { apiVersion: `${GROUP}/v1`, kind: handle.kind, metadata, ...rest } })
  add(clusterroles, { name: 'kubeadm:get-nodes' }, { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['nodes'] }] })
  for (const [name, role, subject] of clusterBindings) {
    add(clusterrolebindings, { name }, { roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: role }, subjects: [subject] })
  }
  for (const [namespace, name, configMap, ...subjects] of configMapRoles) {
    add(roles, { name, namespace }, { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['configmaps'], resourceNames: [configMap] }] })
    add(rolebindings, { name, namespace }, { roleRef: { apiGroup: GROUP, kind: 'Role', name }, subjects })
  }
  return out
}

/** Makes what is missing of them. */
export async function ensureKubeadmRbac(client: Client): Promise<void> {
  const wanted = kubeadmRbac()
  const there = new Set<string>()
  const key = (handle: ResourceHandle, object: KubeObject) => `${handle.resource} ${objectKey(object)}`
  await Promise.all(
    [...new Set(wanted.map(({ handle }) => handle))].map(async (handle) => {
      for (const object of (await client.resource(handle).list()).items) there.add(key(handle, object))
    }),
  )
  await Promise.all(
    wanted
      .filter(({ handle, object }) => !there.has(key(handle, object)))
      .map(({ handle, object }) =>
        client
          .resource(handle)
          .namespace(object.metadata.namespace)
          .create(object)
          .catch((error: unknown) => {
            if (!isAlreadyExists(error)) throw error
          }),
      ),
  )
}
