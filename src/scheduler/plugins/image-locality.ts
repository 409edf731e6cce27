import type { CycleState, Plugin, Snapshot } from '../framework/plugin.ts'

const MIB = 1024 * 1024
const MIN = 23 * MIB
const MAX_PER_CONTAINER = 1000 * MIB

/** Prefers nodes that hold the Pod's images, weighed by how many nodes do. */
export function imageLocality(): Plugin {
  return {
    name: 'ImageLocality',
    preScore(state: CycleState, pod, _, snapshot: Snapshot) {
      const spec = pod.pod.spec
      const names = [...(spec.initContainers ?? []), ...spec.containers].map((c) => c.image ?? '')
      for (const v of spec.volumes ?? []) if (v.image?.reference) names.push(v.image.reference)
      const total = snapshot.nodes.length
      state.set('ImageLocality', {
        images: names.map(normalizedImage).map((name) => ({ name, spread: total === 0 ? 0 : snapshot.imageNodes(name) / total })),
        max: MAX_PER_CONTAINER * ((spec.initContainers?.length ?? 0) + spec.containers.length),
      })
      return undefined
    },
    score(state, _, node) {
      const { images, max } = state.get('ImageLocality') as { images: { name: string; spread: number }[]; max: number }
      let sum = 0
      for (const image of images) {
        const size = node.images.get(image.name)
        if (size !== undefined) sum += Math.trunc(size * image.spread)
      }
      return Math.trunc((100 * (Math.min(Math.max(sum, MIN), max) - MIN)) / (max - MIN))
    },
  }
}

function normalizedImage(name: string): string {
  return name.lastIndexOf(':') <= name.lastIndexOf('/') ? `${name}:latest` : name
}
