import { type rbacv1, resources } from '../../api/index.ts'
import { isAlreadyExists } from '../../apimachinery/errors.ts'
import type { KubeObject, ResourceHandle } from '../../apimachinery/object.ts'
import type { Client } from '../../client/client.ts'

/** What kubeadm leaves in a cluster that others count on. */
export async function installAddons(client: Client): Promise<void> {
  const binding = (name: string, role: string, subject: rbacv1.Subject): rbacv1.ClusterRoleBinding =>
    ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [subject],
    }) as rbacv1.ClusterRoleBinding
  const group = (name: string): rbacv1.Subject => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name }) as rbacv1.Subject
  const user = (name: string): rbacv1.Subject => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }) as rbacv1.Subject
  const bindings = resources.rbacv1.clusterrolebindings
  await Promise.all([
    ensure(client, bindings, binding('kubeadm:cluster-admins', 'cluster-admin', group('kubeadm:cluster-admins'))),
    ensure(client, bindings, binding('kubeadm:apiserver-kubelet-client', 'system:kubelet-api-admin', user('kube-apiserver-kubelet-client'))),
  ])
}

async function ensure<T extends KubeObject>(client: Client, handle: ResourceHandle<T>, object: T): Promise<void> {
  try {
    await client.resource(handle).namespace(object.metadata.namespace).create(object)
  } catch (e) {
    if (!isAlreadyExists(e)) throw e
  }
}
