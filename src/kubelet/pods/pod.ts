import type { Container, EphemeralContainer, ObjectReference, Pod } from '../../api/core/v1/types.generated.ts'

export const annotations = {
  source: 'kubernetes.io/config.source',
  mirror: 'kubernetes.io/config.mirror',
  seen: 'kubernetes.io/config.seen',
  hash: 'kubernetes.io/config.hash',
} as const

export type AnyContainer = Container | EphemeralContainer
export type ContainerRole = 'init' | 'sidecar' | 'regular' | 'ephemeral'

export const uidOf = (pod: Pod): string => pod.metadata.uid ?? ''
export const namespaceOf = (pod: Pod): string => pod.metadata.namespace ?? 'default'
export const nameOf = (pod: Pod): string => pod.metadata.name ?? ''

/** `name_namespace`: what two Pods may not share on a node. */
export const fullName = (pod: Pod): string => `${nameOf(pod)}_${namespaceOf(pod)}`

/** `name_namespace(uid)`: how messages name a Pod. */
export const format = (pod: Pod): string => `${fullName(pod)}(${uidOf(pod)})`

const annotation = (pod: Pod, key: string): string | undefined => {
  const all = pod.metadata.annotations
  return all && Object.hasOwn(all, key) ? all[key] : undefined
}

export const isMirror = (pod: Pod): boolean => annotation(pod, annotations.mirror) !== undefined
/** From a manifest on this node, as the kubelet holds it. */
export const isStatic = (pod: Pod): boolean => {
  const source = annotation(pod, annotations.source)
  return source !== undefined && source !== 'api' && !isMirror(pod)
}
export const isCritical = (pod: Pod): boolean => isStatic(pod) || isMirror(pod) || (pod.spec.priority ?? 0) >= 2_000_000_000
export const isHostNetwork = (pod: Pod): boolean => pod.spec.hostNetwork === true
export const isSidecar = (c: AnyContainer): boolean => (c as Container).restartPolicy === 'Always'
export const mirrorHash = (pod: Pod): string | undefined => annotation(pod, annotations.mirror)

export function roleOf(pod: Pod, name: string): ContainerRole | undefined {
  if (pod.spec.containers.some((c) => c.name === name)) return 'regular'
  const init = pod.spec.initContainers?.find((c) => c.name === name)
  if (init) return isSidecar(init) ? 'sidecar' : 'init'
  return pod.spec.ephemeralContainers?.some((c) => c.name === name) ? 'ephemeral' : undefined
}

export function findContainer(pod: Pod, name: string): AnyContainer | undefined {
  return (
    pod.spec.containers.find((c) => c.name === name) ??
    pod.spec.initContainers?.find((c) => c.name === name) ??
    pod.spec.ephemeralContainers?.find((c) => c.name === name)
  )
}

export function allContainers(pod: Pod): AnyContainer[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers, ...(pod.spec.ephemeralContainers ?? [])]
}

/** What events about a Pod refer to. */
export function podReference(pod: Pod): ObjectReference {
  const { namespace, name, uid, resourceVersion } = pod.metadata
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    ...(namespace ? { namespace } : {}),
    ...(name ? { name } : {}),
    ...(uid ? { uid } : {}),
    ...(resourceVersion ? { resourceVersion } : {}),
  }
}

/** What events about one container of a Pod refer to. */
export function containerReference(pod: Pod, name: string): ObjectReference {
  const role = roleOf(pod, name)
  const list = role === 'regular' ? 'containers' : role === 'ephemeral' ? 'ephemeralContainers' : role ? 'initContainers' : undefined
  return { ...podReference(pod), fieldPath: list ? `spec.${list}{${name}}` : `implicitly required container ${name}` }
}

/** The grace period a Pod is given by its own word, in seconds. */
export const specGracePeriod = (pod: Pod): number => pod.spec.terminationGracePeriodSeconds ?? 30
