import { type corev1, type discoveryv1, resources } from '../../api/index.ts'
import type { KubeObject, ResourceHandle } from '../../apimachinery/object.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { getOrUndefined } from '../../client/rest/client.ts'
import { createIfMissing } from './ensure.ts'
import { type HookContext, keepDoing, type PostStartHook } from './hook.ts'

export interface KubernetesServiceOptions {
  /** First address of the service range. */
  readonly clusterIP: string
  /** Where Pods reach this server; a loopback address is no endpoint, as the original refuses it. */
  readonly advertiseAddress: string
  readonly securePort: number
}

const PERIOD_MS = 10_000
const NAME = 'kubernetes'
const NAMESPACE = 'default'

/** Keeps `default/kubernetes`: the Service, its Endpoints and its EndpointSlice. */
export function kubernetesServiceHook(context: HookContext, options: KubernetesServiceOptions): PostStartHook {
  const ensure = async () => {
    await ensureService(context, options)
    if (!isLoopback(options.advertiseAddress)) await ensureEndpoints(context, options)
  }
  return { name: 'bootstrap-controller', run: (signal) => keepDoing('kubernetes service', ensure, PERIOD_MS, context, signal) }
}

const isLoopback = (address: string) => address.startsWith('127.') || address === '::1'

async function ensureService({ client }: HookContext, { clusterIP, securePort }: KubernetesServiceOptions): Promise<void> {
  const api = client.resource(resources.corev1.services).namespace(NAMESPACE)
  const have = await getOrUndefined(api, NAME)
  const ports = [{ name: 'https', protocol: 'TCP', port: 443, targetPort: securePort }]
  if (have) {
    const current = have.spec.ports?.map(({ name, protocol, port, targetPort }) => ({ name, protocol, port, targetPort }))
    if (deepEqual(current, ports)) return
    const next = deepCopy(have) as corev1.Service
    next.spec.ports = ports as unknown as corev1.ServicePort[]
    await api.update(next)
    return
  }
  await createIfMissing(client, resources.corev1.namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } } as corev1.Namespace)
  await createIfMissing(client, resources.corev1.services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: NAME, namespace: NAMESPACE, labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: { clusterIP, clusterIPs: [clusterIP], ports, sessionAffinity: 'None', type: 'ClusterIP' },
  } as unknown as corev1.Service)
}

async function ensureEndpoints({ client }: HookContext, { advertiseAddress, securePort }: KubernetesServiceOptions): Promise<void> {
  const subset = { addresses: [{ ip: advertiseAddress }], ports: [{ name: 'https', port: securePort, protocol: 'TCP' }] }
  await put(client, resources.corev1.endpoints, {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: NAME, namespace: NAMESPACE, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    subsets: [subset],
  } as unknown as corev1.Endpoints)
  await put(client, resources.discoveryv1.endpointslices, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: NAME, namespace: NAMESPACE, labels: { 'kubernetes.io/service-name': NAME } },
    addressType: advertiseAddress.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [{ addresses: [advertiseAddress], conditions: { ready: true } }],
    ports: [{ name: 'https', port: securePort, protocol: 'TCP' }],
  } as unknown as discoveryv1.EndpointSlice)
}

/** Creates, or updates where what is wanted differs. */
async function put<T extends KubeObject>(client: HookContext['client'], handle: ResourceHandle<T>, want: T): Promise<void> {
  const api = client.resource(handle).namespace(NAMESPACE)
  const have = await getOrUndefined(api, NAME)
  if (!have) {
    await createIfMissing(client, handle, want)
    return
  }
  const labels = { ...have.metadata.labels, ...want.metadata.labels }
  const { metadata: _, apiVersion: __, kind: ___, ...content } = want as KubeObject & Record<string, unknown>
  const differs = Object.entries(content).some(([key, value]) => !deepEqual((have as unknown as Record<string, unknown>)[key], value))
  if (!differs && deepEqual(labels, have.metadata.labels)) return
  const next = { ...(deepCopy(have) as T), ...content } as T
  next.metadata.labels = labels
  await api.update(next)
}
