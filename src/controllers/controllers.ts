import type { ControllerContext } from '../controller-runtime/index.ts'
import { BootstrapSigner, TokenCleaner } from './bootstrap/controllers.ts'
import { CsrApprover, CsrCleaner, CsrSigner } from './certificates/controllers.ts'
import { ClusterRoleAggregationController } from './clusterroleaggregation/controller.ts'
import { CronJobController } from './cronjob/controller.ts'
import { DaemonSetController } from './daemonset/controller.ts'
import { DeploymentController } from './deployment/controller.ts'
import { DisruptionController } from './disruption/controller.ts'
import { EndpointsController } from './endpoints/controller.ts'
import { EndpointSliceController } from './endpointslice/controller.ts'
import { EphemeralVolumeController } from './ephemeralvolume/controller.ts'
import { GarbageCollector } from './garbagecollector/controller.ts'
import { HorizontalController } from './horizontalpodautoscaling/controller.ts'
import { JobController } from './job/controller.ts'
import { NamespaceController } from './namespace/controller.ts'
import { NodeIpamController } from './nodeipam/controller.ts'
import { NodeLifecycleController } from './nodelifecycle/controller.ts'
import type { ControllerManagerOptions } from './options.ts'
import { PodGarbageCollector } from './podgc/controller.ts'
import { ReplicaSetController } from './replicaset/controller.ts'
import { replicationControllerFlavour } from './replicationcontroller/flavour.ts'
import { ResourceQuotaController } from './resourcequota/controller.ts'
import { RootCaPublisher } from './rootca/publisher.ts'
import { ServiceAccountController } from './serviceaccount/controller.ts'
import { ServiceAccountTokenController } from './serviceaccounttoken/controller.ts'
import { StatefulSetController } from './statefulset/controller.ts'
import { TaintEvictionController } from './tainteviction/controller.ts'
import { TtlController } from './ttl/controller.ts'
import { TtlAfterFinishedController } from './ttlafterfinished/controller.ts'
import { VolumeBinder } from './volumebinder/controller.ts'
import { ClaimProtectionController, VolumeProtectionController } from './volumeprotection/controllers.ts'

/** One controller as the manager knows it. */
export interface ControllerDescriptor {
  /** The name for `--controllers`. */
  readonly name: string
  /** Older names that are taken too. */
  readonly aliases: readonly string[]
  /** Service account in kube-system. */
  readonly account: string
  /** @default true */
  readonly onByDefault?: boolean
  /** Starts before the others: without it a new cluster takes no Pod. @default false */
  readonly first?: boolean
  /** Resolves after the context's signal has aborted; undefined when the options do not let it run. */
  start(context: ControllerContext, options: ControllerManagerOptions): Promise<void> | undefined
}

/** All controllers, in the order in which they start, but for the first. The garbage collector is last: it shares what the others watch. */
export const controllers: readonly ControllerDescriptor[] = [
  {
    name: 'serviceaccount-token-controller',
    aliases: ['serviceaccount-token'],
    account: 'serviceaccount-token-controller',
    start: (c, o) =>
      o.serviceAccountPrivateKey ? new ServiceAccountTokenController(c, { privateKey: o.serviceAccountPrivateKey, rootCA: o.rootCA ?? '' }).run() : undefined,
  },
  { name: 'replicaset-controller', aliases: ['replicaset'], account: 'replicaset-controller', start: (c) => new ReplicaSetController(c).run() },
  {
    name: 'replicationcontroller-controller',
    aliases: ['replicationcontroller'],
    account: 'replication-controller',
    start: (c) => new ReplicaSetController(c, replicationControllerFlavour).run(),
  },
  { name: 'deployment-controller', aliases: ['deployment'], account: 'deployment-controller', start: (c) => new DeploymentController(c).run() },
  { name: 'daemonset-controller', aliases: ['daemonset'], account: 'daemon-set-controller', start: (c) => new DaemonSetController(c).run() },
  { name: 'job-controller', aliases: ['job'], account: 'job-controller', start: (c) => new JobController(c).run() },
  { name: 'cronjob-controller', aliases: ['cronjob'], account: 'cronjob-controller', start: (c) => new CronJobController(c).run() },
  { name: 'statefulset-controller', aliases: ['statefulset'], account: 'statefulset-controller', start: (c) => new StatefulSetController(c).run() },
  { name: 'endpoints-controller', aliases: ['endpoint'], account: 'endpoint-controller', start: (c) => new EndpointsController(c).run() },
  { name: 'endpointslice-controller', aliases: ['endpointslice'], account: 'endpointslice-controller', start: (c) => new EndpointSliceController(c).run() },
  { name: 'namespace-controller', aliases: ['namespace'], account: 'namespace-controller', start: (c) => new NamespaceController(c).run() },
  {
    name: 'resourcequota-controller',
    aliases: ['resourcequota'],
    account: 'resourcequota-controller',
    start: (c) => new ResourceQuotaController(c).run(),
  },
  {
    name: 'serviceaccount-controller',
    aliases: ['serviceaccount'],
    account: 'service-account-controller',
    first: true,
    start: (c) => new ServiceAccountController(c).run(),
  },
  {
    name: 'root-ca-certificate-publisher-controller',
    aliases: ['root-ca-cert-publisher'],
    account: 'root-ca-cert-publisher',
    start: (c, o) => (o.rootCA ? new RootCaPublisher(c, o.rootCA).run() : undefined),
  },
  {
    name: 'horizontal-pod-autoscaler-controller',
    aliases: ['horizontalpodautoscaling'],
    account: 'horizontal-pod-autoscaler',
    start: (c) => new HorizontalController(c).run(),
  },
  { name: 'disruption-controller', aliases: ['disruption'], account: 'disruption-controller', start: (c) => new DisruptionController(c).run() },
  {
    name: 'persistentvolume-binder-controller',
    aliases: ['persistentvolume-binder'],
    account: 'persistent-volume-binder',
    start: (c) => new VolumeBinder(c).run(),
  },
  {
    name: 'ephemeral-volume-controller',
    aliases: ['ephemeral-volume'],
    account: 'ephemeral-volume-controller',
    start: (c) => new EphemeralVolumeController(c).run(),
  },
  {
    name: 'node-ipam-controller',
    aliases: ['nodeipam'],
    account: 'node-controller',
    start: (c, o) => (o.allocateNodeCidrs ? new NodeIpamController(c, o).run() : undefined),
  },
  {
    name: 'node-lifecycle-controller',
    aliases: ['nodelifecycle'],
    account: 'node-controller',
    first: true,
    start: (c, o) => new NodeLifecycleController(c, o).run(),
  },
  { name: 'taint-eviction-controller', aliases: [], account: 'node-controller', start: (c) => new TaintEvictionController(c).run() },
  {
    name: 'pod-garbage-collector-controller',
    aliases: ['podgc'],
    account: 'pod-garbage-collector',
    start: (c, o) => new PodGarbageCollector(c, o.terminatedPodGCThreshold).run(),
  },
  { name: 'ttl-controller', aliases: ['ttl'], account: 'ttl-controller', start: (c) => new TtlController(c).run() },
  {
    name: 'clusterrole-aggregation-controller',
    aliases: ['clusterrole-aggregation'],
    account: 'clusterrole-aggregation-controller',
    start: (c) => new ClusterRoleAggregationController(c).run(),
  },
  {
    name: 'persistentvolumeclaim-protection-controller',
    aliases: ['pvc-protection'],
    account: 'pvc-protection-controller',
    start: (c) => new ClaimProtectionController(c).run(),
  },
  {
    name: 'persistentvolume-protection-controller',
    aliases: ['pv-protection'],
    account: 'pv-protection-controller',
    start: (c) => new VolumeProtectionController(c).run(),
  },
  {
    name: 'ttl-after-finished-controller',
    aliases: ['ttl-after-finished'],
    account: 'ttl-after-finished-controller',
    start: (c) => new TtlAfterFinishedController(c).run(),
  },
  {
    name: 'certificatesigningrequest-signing-controller',
    aliases: ['csrsigning'],
    account: 'certificate-controller',
    start: (c, { clusterSigningCertificate, clusterSigningKey, ...rest }) =>
      clusterSigningCertificate && clusterSigningKey ? new CsrSigner(c, { ...rest, clusterSigningCertificate, clusterSigningKey }).run() : undefined,
  },
  {
    name: 'certificatesigningrequest-approving-controller',
    aliases: ['csrapproving'],
    account: 'certificate-controller',
    start: (c) => new CsrApprover(c).run(),
  },
  { name: 'certificatesigningrequest-cleaner-controller', aliases: ['csrcleaner'], account: 'certificate-controller', start: (c) => new CsrCleaner(c).run() },
  {
    name: 'bootstrap-signer-controller',
    aliases: ['bootstrapsigner'],
    account: 'bootstrap-signer',
    onByDefault: false,
    start: (c) => new BootstrapSigner(c).run(),
  },
  { name: 'token-cleaner-controller', aliases: ['tokencleaner'], account: 'token-cleaner', onByDefault: false, start: (c) => new TokenCleaner(c).run() },
  { name: 'garbage-collector-controller', aliases: ['garbagecollector'], account: 'generic-garbage-collector', start: (c) => new GarbageCollector(c).run() },
]

/** Whether a `--controllers` list lets this one run: its own mention wins, then `*`. */
export function isControllerEnabled(controller: Pick<ControllerDescriptor, 'name' | 'aliases' | 'onByDefault'>, list: readonly string[]): boolean {
  const names = [controller.name, ...controller.aliases]
  for (const entry of list) {
    if (names.includes(entry)) return true
    if (entry.startsWith('-') && names.includes(entry.slice(1))) return false
  }
  return list.includes('*') && controller.onByDefault !== false
}
