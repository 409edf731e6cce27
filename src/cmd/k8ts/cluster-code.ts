/** All of the command that needs the cluster's components: apart from the rest, so that the rest answers at once. */
export { conclude, examine } from '../../cluster/local/doctor.ts'
export { NodeContainers } from '../../cluster/local/node-containers.ts'
export { coredns, etcd, kubeApiserver, kubeControllerManager, kubelet, kubeProxy, kubeScheduler } from './commands/component.ts'
export { foreground } from './start-cluster.ts'
