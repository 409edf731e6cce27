import type { Unit, UnitContext } from '../../kubelet/index.ts'
import { runCoreDns } from './coredns.ts'
import { type ControlPlaneEnvironment, type FileReader, mountedFiles } from './environment.ts'
import { runEtcd } from './etcd.ts'
import { runKubeApiServer } from './kube-apiserver.ts'
import { runKubeControllerManager } from './kube-controller-manager.ts'
import { runKubeProxy } from './kube-proxy.ts'
import { runKubeScheduler } from './kube-scheduler.ts'

type Files = FileReader & { hostPath(path: string): string }
type Run = (context: UnitContext, argv: readonly string[], environment: ControlPlaneEnvironment, files: Files) => Promise<void>

/** The components that the builtin runtime can run, by the name of their image and command. */
export function controlPlaneUnits(environment: ControlPlaneEnvironment): ReadonlyMap<string, Unit> {
  const unit =
    (run: Run): Unit =>
    (context) =>
      run(context, context.argv.slice(1), environment, mountedFiles(environment.files, context.mounts))
  // Its image has an entry point: the container has arguments alone.
  const coredns: Unit = (context) => runCoreDns(context, context.argv, environment, mountedFiles(environment.files, context.mounts))
  return new Map([
    ['coredns', Object.assign(coredns, { tellsStart: true })],
    ['etcd', unit(runEtcd)],
    ['kube-apiserver', unit(runKubeApiServer)],
    ['kube-controller-manager', unit(runKubeControllerManager)],
    ['kube-scheduler', unit(runKubeScheduler)],
    ['kube-proxy', unit(runKubeProxy)],
  ])
}
