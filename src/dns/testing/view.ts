import type { corev1, discoveryv1 } from '../../api/index.ts'
import { type ClusterView, clusterAddresses, readyAddresses, SERVICE_NAME } from '../kubernetes/cluster-view.ts'
import { addressBytes } from '../wire/records.ts'

export interface ViewObjects {
  services?: readonly corev1.Service[]
  slices?: readonly discoveryv1.EndpointSlice[]
  namespaces?: readonly string[]
  pods?: readonly corev1.Pod[]
  synced?: boolean
  serial?: number
}

/** A view of objects that are written down, found by looking at all of them. */
export function viewOf(o: ViewObjects): ClusterView {
  const same = (a: string, b: string) => addressBytes(a)?.join() === addressBytes(b)?.join()
  return {
    synced: () => o.synced ?? true,
    serial: () => o.serial ?? 1_499_347_823,
    namespaceExists: (name) => (o.namespaces ?? ['testns']).includes(name),
    service: (namespace, name) => o.services?.find((s) => s.metadata.namespace === namespace && s.metadata.name === name),
    servicesByAddress: (address) => o.services?.filter((s) => clusterAddresses(s).some((a) => same(a, address))) ?? [],
    endpointSlices: (namespace, service) => o.slices?.filter((s) => s.metadata.namespace === namespace && s.metadata.labels?.[SERVICE_NAME] === service) ?? [],
    endpointSlicesByAddress: (address) => o.slices?.filter((s) => readyAddresses(s).some((e) => same(e.address, address))) ?? [],
    podsByAddress: (address) => o.pods?.filter((p) => same(p.status?.podIP ?? '', address)) ?? [],
  }
}

export function service(name: string, spec: object, namespace = 'testns'): corev1.Service {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec, status: {} } as unknown as corev1.Service
}

export function slice(serviceName: string, rest: object, namespace = 'testns'): discoveryv1.EndpointSlice {
  const metadata = { name: `${serviceName}-abcde`, namespace, labels: { [SERVICE_NAME]: serviceName } }
  return { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata, addressType: 'IPv4', ...rest } as unknown as discoveryv1.EndpointSlice
}
