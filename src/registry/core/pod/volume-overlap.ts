import type { Volume, VolumeProjection } from '../../../api/core/v1/types.generated.ts'
import { quote } from '../../../apimachinery/quote.ts'

interface File {
  path: string
  source: string
}

const under = (a: string, b: string): boolean => a === b || b.startsWith(`${a}/`)

/** Two files that cannot both be there: one is the other's directory, or they are the same. */
function overlaps(files: readonly File[], describe: (a: File, b: File) => string): string[] {
  const out: string[] = []
  for (let i = 0; i < files.length; i++) {
    for (let j = 0; j < i; j++) {
      const a = files[j] as File
      const b = files[i] as File
      if (under(a.path, b.path) || under(b.path, a.path)) out.push(describe(a, b))
    }
  }
  return out
}

const clean = (path: string): string =>
  path
    .split('/')
    .filter((p) => p !== '' && p !== '.')
    .join('/')

const filesOf = (items: readonly { path: string }[] | undefined, source: string): File[] => (items ?? []).map((i) => ({ path: clean(i.path), source }))

function projectedFiles(source: VolumeProjection): File[] {
  if (source.configMap) return filesOf(source.configMap.items, `ConfigMap ${quote(source.configMap.name ?? '')}`)
  if (source.secret) return filesOf(source.secret.items, `Secret ${quote(source.secret.name ?? '')}`)
  if (source.downwardAPI) return filesOf(source.downwardAPI.items, 'DownwardAPI')
  if (source.serviceAccountToken) return filesOf([source.serviceAccountToken], 'ServiceAccountToken')
  if (source.clusterTrustBundle) return filesOf([source.clusterTrustBundle], 'ClusterTrustBundle')
  return []
}

/** Files of one volume that would hide each other. */
export function overlapWarnings(volume: Volume): string[] {
  const head = `volume ${quote(volume.name)}`
  const simple = (what: string, items: readonly { path: string }[] | undefined) =>
    overlaps(filesOf(items, what), (a, b) => `${head} (${what}): overlapping paths: ${quote(b.path)} with ${quote(a.path)}`)
  if (volume.configMap) return simple(`ConfigMap ${quote(volume.configMap.name ?? '')}`, volume.configMap.items)
  if (volume.secret) return simple(`Secret ${quote(volume.secret.secretName ?? '')}`, volume.secret.items)
  if (volume.downwardAPI) return simple('DownwardAPI', volume.downwardAPI.items)
  if (!volume.projected) return []
  const sources = volume.projected.sources ?? []
  if (sources.some((s) => Object.keys(s).length === 0)) return [`${head} (Projected) has no sources provided`]
  return overlaps(
    sources.flatMap(projectedFiles),
    (a, b) => `${head} (Projected): overlapping paths: ${quote(b.path)} (${b.source}) with ${quote(a.path)} (${a.source})`,
  )
}
