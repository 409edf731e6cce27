import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ImageSet } from './demo-images.ts'
import { MANIFEST_TYPE } from './oci-image.ts'

export interface ImageRegistry {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  add(images: ImageSet): void
  has(name: string): boolean
  close(): Promise<void>
}

/** A read-only registry (OCI distribution, pull only) of images in memory, on a free port of loopback. */
export async function serveImages(): Promise<ImageRegistry> {
  const blobs = new Map<string, Uint8Array>()
  const tags = new Map<string, string>()
  const server = createServer((request, response) => {
    const m = /^\/v2\/(?:(.+)\/(manifests|blobs)\/([^/]+))?$/.exec((request.url ?? '').split('?')[0] as string)
    if (!m) return response.writeHead(404).end()
    const [, repository, kind, reference = ''] = m
    if (!repository) return response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    const digest = reference.startsWith('sha256:') ? reference : tags.get(`${repository}:${reference}`)
    const bytes = digest === undefined ? undefined : blobs.get(digest)
    if (!bytes || digest === undefined) {
      const code = kind === 'manifests' ? 'MANIFEST_UNKNOWN' : 'BLOB_UNKNOWN'
      return response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ errors: [{ code, message: 'not found' }] }))
    }
    response.writeHead(200, {
      'content-type': kind === 'manifests' ? MANIFEST_TYPE : 'application/octet-stream',
      'content-length': bytes.length,
      'docker-content-digest': digest,
      'docker-distribution-api-version': 'registry/2.0',
    })
    return response.end(request.method === 'HEAD' ? undefined : bytes)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  server.unref()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add(images) {
      for (const [name, image] of images) {
        for (const [digest, bytes] of image.blobs) blobs.set(digest, bytes)
        blobs.set(image.digest, image.manifest)
        tags.set(name, image.digest)
      }
    },
    has: (name) => tags.has(name),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
