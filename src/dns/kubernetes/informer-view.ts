import { type corev1, type discoveryv1, resources } from '../../api/index.ts'
import type { Clock, Random } from '../../base/index.ts'
import type { InformerOptions } from '../../client/cache/informer.ts'
import { InformerFactory } from '../../client/cache/informer-factory.ts'
import type { Client } from '../../client/client.ts'
import type { Logger } from '../../component-base/component.ts'
import { addressBytes } from '../wire/records.ts'
import { type ClusterView, clusterAddresses, readyAddresses, SERVICE_NAME } from './cluster-view.ts'

export interface InformerViewOptions {
  client: Client
  clock: Clock
  random: Random
  log: Logger
  /** Pods are many, and watched only where their names are checked. */
  pods: boolean
  endpoints: boolean
  /** Of Services and their endpoints. */
  labelSelector?: string
  namespaceLabelSelector?: string
}

const ADDRESS = 'dns.address'
const SERVICE = 'dns.service'

/** One spelling for each address. */
const key = (address: string): string => addressBytes(address)?.join('.') ?? address

/** What a cluster has, from watches that last until the signal aborts. */
export function watchCluster(
  o: InformerViewOptions,
  signal: AbortSignal,
): { view: ClusterView; synced(signal: AbortSignal): Promise<void>; ended(): Promise<void> } {
  const factory = new InformerFactory({ client: o.client, clock: o.clock, random: o.random, log: o.log })
  const scope: InformerOptions = o.labelSelector ? { labelSelector: o.labelSelector } : {}
  const services = factory.informer<corev1.Service>(resources.corev1.services, scope)
  const namespaces = factory.informer<corev1.Namespace>(
    resources.corev1.namespaces,
    o.namespaceLabelSelector ? { labelSelector: o.namespaceLabelSelector } : {},
  )
  const slices = o.endpoints ? factory.informer<discoveryv1.EndpointSlice>(resources.discoveryv1.endpointslices, scope) : undefined
  const pods = o.pods ? factory.informer<corev1.Pod>(resources.corev1.pods) : undefined
  services.addIndex(ADDRESS, (s) => clusterAddresses(s).map(key))
  slices?.addIndex(SERVICE, (s) => [`${s.metadata.namespace}/${s.metadata.labels?.[SERVICE_NAME] ?? ''}`])
  slices?.addIndex(ADDRESS, (s) => [...new Set(readyAddresses(s).map((e) => key(e.address)))])
  pods?.addIndex(ADDRESS, (p) =>
    p.status?.phase === 'Succeeded' || p.status?.phase === 'Failed' || p.metadata.deletionTimestamp || !p.status?.podIP ? [] : [key(p.status.podIP)],
  )
  let serial = Math.floor(o.clock.now() / 1000)
  const changed = () => {
    serial = Math.floor(o.clock.now() / 1000)
  }
  services.addHandler({
    onAdd: (_, initial) => void (initial || changed()),
    onUpdate: (a, b) => void (JSON.stringify(a.spec) !== JSON.stringify(b.spec) && changed()),
    onDelete: changed,
  })
  slices?.addHandler({ onAdd: (_, initial) => void (initial || changed()), onUpdate: changed, onDelete: changed })
  pods?.addHandler({ onAdd: (_, initial) => void (initial || changed()), onDelete: changed })
  factory.start(signal)
  const all = [services, namespaces, ...(slices ? [slices] : []), ...(pods ? [pods] : [])]
  return {
    view: {
      synced: () => all.every((i) => i.hasSynced()),
      serial: () => serial,
      namespaceExists: (name) => namespaces.lister.get(name) !== undefined,
      service: (namespace, name) => services.lister.get(`${namespace}/${name}`),
      servicesByAddress: (address) => services.lister.byIndex(ADDRESS, key(address)),
      endpointSlices: (namespace, service) => slices?.lister.byIndex(SERVICE, `${namespace}/${service}`) ?? [],
      endpointSlicesByAddress: (address) => slices?.lister.byIndex(ADDRESS, key(address)) ?? [],
      podsByAddress: (address) => pods?.lister.byIndex(ADDRESS, key(address)) ?? [],
    },
    synced: (until) => factory.waitForSync(until),
    ended: () => factory.stopped(),
  }
}
