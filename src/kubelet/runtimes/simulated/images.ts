import { createHash } from 'node:crypto'
import { BoundedMap } from '../../../base/bounded-map.ts'
import type { Clock } from '../../../base/index.ts'
import { canonicalImageName, type ImageReference, parseImageReference } from '../../../component-helpers/image-reference.ts'
import { type AuthConfig, type Image, type ImageService, type ImageSpec, type PodSandboxConfig, RuntimeError } from '../../runtime/runtime.ts'
import { SIMULATE_ANNOTATION, scriptFor } from './script.ts'

/** Compressed sizes of well-known images, in bytes. */
const SIZES: Record<string, number> = {
  'library/nginx': 72_319_182,
  'library/busybox': 2_223_685,
  'library/alpine': 3_646_000,
  'library/redis': 52_400_000,
  'library/postgres': 160_300_000,
  'library/mysql': 232_000_000,
  'library/httpd': 64_400_000,
  'library/python': 365_000_000,
  'library/perl': 333_000_000,
  'library/ubuntu': 29_700_000,
  'library/debian': 48_500_000,
  pause: 319_000,
  'coredns/coredns': 23_100_000,
  'kube-proxy': 31_500_000,
}
const KNOWN_TLDS = new Set([
  'io',
  'com',
  'org',
  'net',
  'dev',
  'ai',
  'cloud',
  'app',
  'co',
  'local',
  'internal',
  'de',
  'uk',
  'eu',
  'jp',
  'cn',
  'us',
  'gov',
  'edu',
])
/** Simulated bandwidth in bytes per millisecond: a registry next door. */
const BANDWIDTH = 2_400_000
/** What a registry takes to say what a name stands for. */
const RESOLVE_MS = 10
const MAX_PULL_MS = 1000
const MAX_IMAGES = 1000

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Images without content: a name is "pulled" in a time that fits its size, unless it cannot exist. */
export class SimulatedImages implements ImageService {
  private readonly images = new BoundedMap<string, Image>(MAX_IMAGES)
  private readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  async pullImage(spec: ImageSpec, _auth: AuthConfig | undefined, sandbox: PodSandboxConfig | undefined, signal?: AbortSignal): Promise<string> {
    const ref = parseImageReference(spec.image)
    if (!ref) throw new RuntimeError('InvalidArgument', `failed to parse image reference ${JSON.stringify(spec.image)}: invalid reference format`)
    const name = canonicalImageName(ref)
    const script = scriptFor(sandbox?.annotations[SIMULATE_ANNOTATION], '')
    const size = sizeOf(ref)
    // Of what is there already nothing has to come.
    const transferMs = (await this.imageStatus(spec)) ? 0 : size / BANDWIDTH
    await this.clock.sleep(script.pullMs ?? Math.min(MAX_PULL_MS, RESOLVE_MS + transferMs), signal)
    if (script.pullError !== undefined) throw pullFailure(name, script.pullError)
    refuse(ref, name)
    const digest = ref.digest || `sha256:${sha256(`manifest ${ref.domain}/${ref.path}:${ref.tag}`)}`
    const id = `sha256:${sha256(`config ${ref.domain}/${ref.path} ${digest}`)}`
    const repoDigest = `${ref.domain}/${ref.path}@${digest}`
    const existing = this.images.get(id)
    const tags = new Set([...(existing?.repoTags ?? []), ...(ref.tag ? [`${ref.domain}/${ref.path}:${ref.tag}`] : [])])
    this.images.set(id, { id, repoTags: [...tags], repoDigests: [repoDigest], size, username: '', pinned: ref.path === 'pause' })
    return id
  }

  async imageStatus(spec: ImageSpec): Promise<Image | undefined> {
    const byId = this.images.get(spec.image)
    if (byId) return byId
    const ref = parseImageReference(spec.image)
    if (!ref) return undefined
    const tag = `${ref.domain}/${ref.path}:${ref.tag}`
    const digest = `${ref.domain}/${ref.path}@${ref.digest}`
    for (const image of this.images.values()) {
      if (ref.digest ? image.repoDigests.includes(digest) : image.repoTags.includes(tag)) return image
    }
    return undefined
  }

  async listImages(): Promise<Image[]> {
    return [...this.images.values()]
  }

  async removeImage(spec: ImageSpec): Promise<void> {
    const image = await this.imageStatus(spec)
    if (image) this.images.delete(image.id)
  }

  async imageFsInfo(): Promise<Awaited<ReturnType<ImageService['imageFsInfo']>>> {
    let used = 0
    for (const image of this.images.values()) used += image.size
    const usage = { timestamp: this.clock.now(), mountpoint: '/var/lib/containerd', usedBytes: used, inodesUsed: this.images.size * 200 }
    return { imageFilesystems: [usage], containerFilesystems: [usage] }
  }
}

function sizeOf(ref: ImageReference): number {
  const known = SIZES[ref.path]
  if (known !== undefined) return known
  return 2_000_000 + (Number.parseInt(sha256(`${ref.path}:${ref.tag}`).slice(0, 8), 16) % 90_000_000)
}

/** Names that a real registry would not have: reserved or unknown hosts, and tags and paths that say so themselves. */
function refuse(ref: ImageReference, name: string): void {
  const host = ref.domain.replace(/:\d+$/, '')
  const tld = host.slice(host.lastIndexOf('.') + 1)
  const isAddress = /^[\d.]+$|^\[/.test(host)
  if (host !== 'localhost' && !isAddress && (!host.includes('.') || !KNOWN_TLDS.has(tld))) {
    throw pullFailure(
      name,
      `failed to do request: Head "https://${ref.domain}/v2/${ref.path}/manifests/${ref.tag || ref.digest}": dial tcp: lookup ${host}: no such host`,
    )
  }
  if (/no-?such|does-?not-?exist|non-?existent|invalid|nosuch/.test(`${ref.path}:${ref.tag}`)) {
    const known = SIZES[ref.path] !== undefined
    if (ref.domain === 'docker.io' && !known) {
      const short = ref.path.replace(/^library\//, 'library/')
      throw pullFailure(
        name,
        `pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed`,
        `docker.io/${short}:${ref.tag}`,
      )
    }
    throw new RuntimeError('NotFound', `failed to pull and unpack image "${name}": failed to resolve reference "${name}": ${name}: not found`)
  }
}

function pullFailure(name: string, text: string, shown = name): RuntimeError {
  return new RuntimeError('Unknown', `failed to pull and unpack image "${shown}": failed to resolve reference "${shown}": ${text}`)
}
