import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'

/** What a container of the image runs with; see the OCI image configuration. */
export interface ImageConfig {
  Env?: string[]
  Cmd?: string[]
  Entrypoint?: string[]
  User?: string
  ExposedPorts?: Record<string, object>
  StopSignal?: string
  WorkingDir?: string
}

/** An image of one platform: its blobs by digest, and its manifest. */
export interface OciImage {
  readonly blobs: ReadonlyMap<string, Uint8Array>
  readonly manifest: Uint8Array
  readonly digest: string
}

export const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json'
const digestOf = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** @param layers tar archives, lowest first */
export function ociImage(layers: readonly Uint8Array[], config: ImageConfig): OciImage {
  const blobs = new Map<string, Uint8Array>()
  const descriptors = layers.map((tar) => {
    // The lowest level: built at start, pulled over loopback, kept nowhere.
    const zipped = gzipSync(tar, { level: 1 })
    const digest = digestOf(zipped)
    blobs.set(digest, zipped)
    return { mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', digest, size: zipped.length }
  })
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const image = Buffer.from(
    JSON.stringify({
      architecture,
      os: 'linux',
      created: '1970-01-01T00:00:00Z',
      config,
      rootfs: { type: 'layers', diff_ids: layers.map(digestOf) },
      history: layers.map(() => ({ created_by: 'k8ts demo image' })),
    }),
  )
  blobs.set(digestOf(image), image)
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: digestOf(image), size: image.length },
      layers: descriptors,
    }),
  )
  return { blobs, manifest, digest: digestOf(manifest) }
}
