import { promises as fs } from 'node:fs'
import type { Clock } from '../../base/index.ts'
import type { ContainerRuntime, Image } from '../runtime/runtime.ts'

export interface ImageGcOptions {
  runtime: ContainerRuntime
  clock: Clock
  /** @default 85 */
  highPercent?: number
  /** @default 80 */
  lowPercent?: number
  /** Younger images are kept. @default 2 min */
  minAgeMs?: number
}

/** Size and free bytes of the file system a path is on. */
export async function diskOf(path: string): Promise<{ size: number; available: number; inodes: number; inodesFree: number } | undefined> {
  const s = await fs.statfs(path).catch(() => undefined)
  return s && s.blocks > 0 ? { size: s.blocks * s.bsize, available: s.bavail * s.bsize, inodes: s.files, inodesFree: s.ffree } : undefined
}

/** Removes images no container uses, least recently seen in use first, when the images' disk fills up. */
export class ImageGc {
  private readonly seen = new Map<string, { first: number; used: number }>()
  private readonly options: ImageGcOptions

  constructor(options: ImageGcOptions) {
    this.options = options
  }

  /** @returns a message when not enough could be freed */
  async collect(): Promise<string | undefined> {
    const { runtime, highPercent = 85, lowPercent = 80 } = this.options
    const images = await this.detect()
    const { imageFilesystems } = await runtime.images.imageFsInfo()
    const disk = imageFilesystems[0] ? await diskOf(imageFilesystems[0].mountpoint) : undefined
    if (!disk) return undefined
    const usedPercent = 100 - Math.floor((disk.available * 100) / disk.size)
    if (usedPercent < highPercent) return undefined
    const toFree = Math.floor((disk.size * (100 - lowPercent)) / 100) - disk.available
    const freed = await this.free(images, toFree)
    if (freed >= toFree) return undefined
    return `Insufficient free disk space on the node's image filesystem (${usedPercent}% of ${disk.size} used). Failed to free sufficient space by deleting unused images (freed ${freed} bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.`
  }

  /** Removes every unused image. */
  async collectAll(): Promise<number> {
    return this.free(await this.detect(), Number.POSITIVE_INFINITY)
  }

  private async detect(): Promise<{ image: Image; used: boolean }[]> {
    const { runtime, clock } = this.options
    const now = clock.now()
    const [images, containers] = await Promise.all([runtime.images.listImages(), runtime.listContainers()])
    const inUse = new Set(containers.flatMap((c) => [c.imageRef, c.imageId ?? '', c.image.image]))
    const out = images.map((image) => ({
      image,
      used: inUse.has(image.id) || image.repoDigests.some((d) => inUse.has(d)) || image.repoTags.some((t) => inUse.has(t)),
    }))
    const present = new Set(images.map((i) => i.id))
    for (const id of this.seen.keys()) if (!present.has(id)) this.seen.delete(id)
    for (const { image, used } of out) {
      const known = this.seen.get(image.id)
      if (!known) this.seen.set(image.id, { first: now, used: used ? now : 0 })
      else if (used) known.used = now
    }
    return out
  }

  private async free(images: { image: Image; used: boolean }[], bytes: number): Promise<number> {
    const { runtime, clock, minAgeMs = 120_000 } = this.options
    const now = clock.now()
    let freed = 0
    const order = images
      .filter(({ image, used }) => !used && !image.pinned)
      .sort(
        (a, b) =>
          (this.seen.get(a.image.id)?.used ?? 0) - (this.seen.get(b.image.id)?.used ?? 0) ||
          (this.seen.get(a.image.id)?.first ?? 0) - (this.seen.get(b.image.id)?.first ?? 0),
      )
    for (const { image } of order) {
      if (freed >= bytes) break
      if (now - (this.seen.get(image.id)?.first ?? now) < minAgeMs) continue
      await runtime.images.removeImage({ image: image.id })
      freed += image.size
    }
    return freed
  }
}
