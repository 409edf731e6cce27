import { fnv1a32 } from '../../base/fnv.ts'
import type { AnyContainer } from '../pods/pod.ts'

/** Changes of these parts of a container's spec make it start anew. */
export const containerHash = (c: AnyContainer): string => fnv1a32(new TextEncoder().encode(JSON.stringify({ name: c.name, image: c.image ?? '' }))).toString(16)
