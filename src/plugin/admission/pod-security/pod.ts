import type { corev1 } from '../../../api/index.ts'
import { quote } from '../../../apimachinery/quote.ts'

export type Container = corev1.Container

/** What a check looks at: a Pod or the template of one. */
export interface PodView {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
  readonly spec: corev1.PodSpec
}

export interface Violation {
  readonly reason: string
  readonly detail: string
}

/** One rule about Pods. It is in force from `since` on. */
export interface Check {
  readonly id: string
  readonly restricted?: true
  /** Minor version. */
  readonly since: number
  /** Checks of the lower level that this one takes the place of. */
  readonly overrides?: string
  run(pod: PodView, minor: number): Violation | undefined
}

/** Init containers, containers, ephemeral containers. */
export function containersOf({ spec }: PodView): Container[] {
  return [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...((spec.ephemeralContainers ?? []) as unknown as Container[])]
}

export const plural = (one: string, many: string, count: number): string => (count === 1 ? one : many)
export const quoted = (names: Iterable<string>): string => [...names].map(quote).join(', ')
/** `container "a"`, `containers "a", "b"` */
export const containersText = (names: readonly string[]): string => `${plural('container', 'containers', names.length)} ${quoted(names)}`
export const sortedSet = (values: Iterable<string>): string[] => [...new Set(values)].sort()
export const isWindows = ({ spec }: PodView): boolean => spec.os?.name === 'windows'
export const hasUserNamespace = ({ spec }: PodView): boolean => spec.hostUsers === false

/** `pod and container "a"`: who set something that is not allowed. */
export function settersText(pod: boolean, containers: readonly string[]): string {
  return [...(pod ? ['pod'] : []), ...(containers.length ? [containersText(containers)] : [])].join(' and ')
}
