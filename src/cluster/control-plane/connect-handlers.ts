import { Readable } from 'node:stream'
import type { corev1 } from '../../api/index.ts'
import { newBadRequest, newInternalError } from '../../apimachinery/errors.ts'
import type { ConnectCall, ConnectHandler } from '../../apiserver/endpoints/endpoint.ts'
import type { ApiResponse } from '../../apiserver/request/api-request.ts'
import type { KubeletApi } from '../../kubelet/index.ts'

export interface KubeletDirectory {
  /** The kubelet's API of a node of this process. */
  api(nodeName: string): KubeletApi | undefined
}

/** What goes through the API server to the kubelet of a Pod's node. */
export function podConnectHandlers(kubelets: KubeletDirectory): Record<string, ConnectHandler> {
  return { 'pods/log': { connect: (call) => podLog(call, kubelets) } }
}

async function podLog(call: ConnectCall, kubelets: KubeletDirectory): Promise<ApiResponse> {
  const { context, endpoint, namespace, name } = call
  const pod = (await endpoint.store?.get(namespace, name))?.object as corev1.Pod
  const container = containerOf(pod, context.query.get('container') ?? '')
  if (!pod.spec.nodeName) return { status: 200, headers: { 'content-type': 'text/plain' }, bytes: new Uint8Array(0) }
  const api = kubelets.api(pod.spec.nodeName)
  if (!api)
    throw newInternalError(
      new Error(
        `Get "https://${pod.status.hostIP ?? pod.spec.nodeName}:10250/containerLogs/${namespace}/${name}/${container}": dial tcp: connect: connection refused`,
      ),
    )
  const stop = new AbortController()
  context.request.onClose(() => stop.abort(new Error('client went away')))
  const answer = await api.handle({
    method: 'GET',
    path: `/containerLogs/${namespace}/${name}/${container}${context.request.query ? `?${context.request.query}` : ''}`,
    headers: {},
    signal: stop.signal,
  })
  const { status, headers, body } = answer
  if (status !== 200) throw newBadRequest(typeof body === 'string' ? body.trim() : `kubelet answered ${status}`)
  if (typeof body === 'string') return { status, headers, bytes: Buffer.from(body) }
  if (body instanceof Uint8Array) return { status, headers, bytes: body }
  return { status, headers, stream: Readable.from(body, { objectMode: false }) }
}

/** The named container, or the only one; else the message that names them all. */
function containerOf(pod: corev1.Pod, asked: string): string {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec
  const name = pod.metadata.name ?? ''
  const names = (list: readonly { name: string }[]) => list.map((c) => c.name).join(' ')
  if (asked === '') {
    if (containers.length === 1 && initContainers.length === 0) return (containers[0] as corev1.Container).name
    const preferred = pod.metadata.annotations?.['kubectl.kubernetes.io/default-container']
    if (preferred && containers.some((c) => c.name === preferred)) return preferred
    if (containers.length === 1) return (containers[0] as corev1.Container).name
    const inits = initContainers.length > 0 ? ` or one of the init containers: [${names(initContainers)}]` : ''
    throw newBadRequest(`a container name must be specified for pod ${name}, choose one of: [${names(containers)}]${inits}`)
  }
  if ([...containers, ...initContainers, ...ephemeralContainers].some((c) => c.name === asked)) return asked
  throw newBadRequest(`container ${asked} is not valid for pod ${name}`)
}
