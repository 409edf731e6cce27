import type { Pki } from './pki/index.ts'
import { kubeconfigFor } from './pki/index.ts'

/** Kubeconfigs of a control plane's components and of its administrator, by file name. */
export function clusterKubeconfigs(pki: Pki, server: string, nodeName: string): Map<string, string> {
  const make = (user: string, credentials: { certificate: string; key: string }, cluster = 'kubernetes') =>
    kubeconfigFor({ server, certificateAuthority: pki.ca.certificate, user, credentials, cluster })
  return new Map([
    ['admin.conf', make('kubernetes-admin', pki.admin)],
    ['super-admin.conf', make('kubernetes-super-admin', pki.superAdmin)],
    ['controller-manager.conf', make('system:kube-controller-manager', pki.controllerManager)],
    ['scheduler.conf', make('system:kube-scheduler', pki.scheduler)],
    ['kubelet.conf', make(`system:node:${nodeName}`, pki.kubelet)],
  ])
}
