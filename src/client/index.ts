/**
 * client-go's place: the client over any transport, kubeconfig, informers, work queues, leader election and events. Components
 * know the API through this room alone.
 */

export {
  type HandlerRegistration,
  type Informer,
  type InformerContext,
  type InformerOptions,
  type ResourceEventHandler,
  SharedInformer,
} from './cache/informer.ts'
export { InformerFactory } from './cache/informer-factory.ts'
export { type IndexFunction, type Lister, NAMESPACE_INDEX, NODE_NAME_INDEX } from './cache/store.ts'
export * from './client.ts'
export { type DiscoveredResource, type Discovery, discover } from './discovery/discovery.ts'
export {
  type ClientConfig,
  inClusterConfig,
  KubeconfigError,
  loadKubeconfig,
  parseKubeconfig,
  tokenFile,
  transportFromKubeconfig,
} from './kubeconfig/kubeconfig.ts'
export { type LeaderElectionOptions, LeaderElector } from './leaderelection/leader-elector.ts'
export { EventBroadcaster, type EventBroadcasterOptions, type EventRecorder, type EventType } from './record/event-recorder.ts'
export { type ObjectReference, referenceTo } from './record/object-reference.ts'
export { SeriesBroadcaster, type SeriesRecorder, type SeriesRecorderOptions } from './record/series-recorder.ts'
export { createClient, getOrUndefined, type RestClientOptions } from './rest/client.ts'
export { createHttpsTransport, type HttpsTransportOptions } from './rest/https-transport.ts'
export type { Transport, TransportRequest, TransportResponse } from './transport.ts'
export { BucketLimiter, defaultLimiter, ExponentialLimiter, MaxOfLimiter, type RateLimiter } from './workqueue/rate-limiter.ts'
export { WorkQueue } from './workqueue/work-queue.ts'
