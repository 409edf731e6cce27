/**
 * The node agent: takes the Pods of one node from the API and from manifests, runs them through a `ContainerRuntime` (CRI's terms), and tells of
 * them in the API. `createKubelet(options).run(signal)`; runtimes are `simulated`, `builtin`, `composite` and (over gRPC) `cri`. All
 * state is in objects: a process may run as many kubelets as it likes.
 */
export { KUBELET_VERSION, type KubeletOptions } from './config.ts'
export { createKubelet, Kubelet } from './kubelet.ts'
export { firstAddress, type Machine, thisMachine } from './node/machine.ts'
export { isStatic } from './pods/pod.ts'
export { apiPodSource, type PodSink, type PodSource, SharedNodeSource, SharedPodSource } from './pods/pod-source.ts'
export * from './runtime/runtime.ts'
export { createBuiltinRuntime, type PodAddresses, type Unit, type UnitContext } from './runtimes/builtin/builtin.ts'
export { BUILTIN_HANDLER, CompositeRuntime } from './runtimes/composite.ts'
export { createSimulatedRuntime, type SimulatedRuntimeOptions } from './runtimes/simulated/simulated.ts'
export { delegatedAuth, type KubeletAuth } from './server/auth.ts'
export { type KubeletServerOptions, type RunningKubeletServer, serveKubelet } from './server/https-server.ts'
export { KubeletApi, type KubeletApiOptions } from './server/kubelet-api.ts'
export { HttpError, type KubeletRequest, type KubeletResponse } from './server/request.ts'
export type { StreamTarget } from './streaming/target.ts'
export { type Mounter, systemMounter } from './volumes/mounter.ts'
