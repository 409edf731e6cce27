import type { ConfigMap, DownwardAPIVolumeFile, KeyToPath, Pod, ProjectedVolumeSource, Secret } from '../../api/core/v1/types.generated.ts'
import { isNotFound } from '../../apimachinery/errors.ts'
import { type FieldSources, fieldValue, resourceValue } from '../env/field-path.ts'
import { namespaceOf } from '../pods/pod.ts'
import type { Payload } from './atomic-writer.ts'

export interface ProjectionSources {
  configMap(namespace: string, name: string): Promise<ConfigMap>
  secret(namespace: string, name: string): Promise<Secret>
  /** A service account token for the Pod, fresh enough; undefined leaves the file out. */
  token(pod: Pod, audience: string, expirationSeconds: number): Promise<string | undefined>
  fields: FieldSources
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const base64 = (text: string): Uint8Array => Buffer.from(text, 'base64')
const DEFAULT_MODE = 0o644

export async function configMapPayload(
  pod: Pod,
  source: { name?: string; items?: KeyToPath[]; optional?: boolean; defaultMode?: number },
  sources: ProjectionSources,
): Promise<Payload> {
  const namespace = namespaceOf(pod)
  const map = await orNothing(sources.configMap(namespace, source.name ?? ''), source.optional)
  const data = new Map<string, Uint8Array>()
  for (const [k, v] of Object.entries(map?.data ?? {})) data.set(k, utf8(v))
  for (const [k, v] of Object.entries(map?.binaryData ?? {})) data.set(k, base64(v))
  return pick(data, source, (key) => `configmap references non-existent config key: ${key}`)
}

export async function secretPayload(
  pod: Pod,
  source: { name?: string; items?: KeyToPath[]; optional?: boolean; defaultMode?: number },
  sources: ProjectionSources,
): Promise<Payload> {
  const secret = await orNothing(sources.secret(namespaceOf(pod), source.name ?? ''), source.optional)
  const data = new Map<string, Uint8Array>()
  for (const [k, v] of Object.entries(secret?.data ?? {})) data.set(k, base64(v))
  return pick(data, source, (key) => `references non-existent secret key: ${key}`)
}

function pick(
  data: Map<string, Uint8Array>,
  source: { items?: KeyToPath[]; optional?: boolean; defaultMode?: number },
  missing: (key: string) => string,
): Payload {
  const payload: Payload = new Map()
  const mode = source.defaultMode ?? DEFAULT_MODE
  if (!source.items?.length) {
    for (const [key, value] of data) payload.set(key, { data: value, mode })
    return payload
  }
  for (const item of source.items) {
    const value = data.get(item.key)
    if (!value) {
      if (source.optional) continue
      throw new Error(missing(item.key))
    }
    payload.set(item.path, { data: value, mode: item.mode ?? mode })
  }
  return payload
}

export function downwardPayload(pod: Pod, items: readonly DownwardAPIVolumeFile[] | undefined, defaultMode: number | undefined, fields: FieldSources): Payload {
  const payload: Payload = new Map()
  for (const item of items ?? []) {
    const text = item.fieldRef
      ? fieldValue(pod, item.fieldRef.fieldPath, fields)
      : item.resourceFieldRef
        ? resourceValue(pod, item.resourceFieldRef, undefined, fields.allocatable)
        : ''
    payload.set(item.path, { data: utf8(text), mode: item.mode ?? defaultMode ?? DEFAULT_MODE })
  }
  return payload
}

export async function projectedPayload(pod: Pod, source: ProjectedVolumeSource, sources: ProjectionSources): Promise<Payload> {
  const payload: Payload = new Map()
  const { defaultMode } = source
  for (const part of source.sources ?? []) {
    let more: Payload | undefined
    if (part.configMap) more = await configMapPayload(pod, { ...part.configMap, defaultMode }, sources)
    else if (part.secret) more = await secretPayload(pod, { ...part.secret, defaultMode }, sources)
    else if (part.downwardAPI) more = downwardPayload(pod, part.downwardAPI.items, defaultMode, sources.fields)
    else if (part.serviceAccountToken) {
      const { path, audience = '', expirationSeconds = 3600 } = part.serviceAccountToken
      const token = await sources.token(pod, audience, expirationSeconds)
      if (token !== undefined) more = new Map([[path, { data: utf8(token), ...tokenOwner(pod, defaultMode) }]])
    } else throw new Error('this kind of projected volume source is not supported')
    for (const [path, file] of more ?? []) payload.set(path, file)
  }
  return payload
}

/** Token files are the user's alone where all containers run as one, or a group owns the volume. */
function tokenOwner(pod: Pod, defaultMode: number | undefined): { mode: number; uid?: number } {
  if (pod.spec.securityContext?.fsGroup !== undefined) return { mode: 0o600 }
  const users = new Set(
    [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map((c) => c.securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser),
  )
  const [only] = users
  if (users.size === 1 && only !== undefined) return { mode: 0o600, uid: only }
  return { mode: defaultMode ?? DEFAULT_MODE }
}

async function orNothing<T>(object: Promise<T>, optional: boolean | undefined): Promise<T | undefined> {
  try {
    return await object
  } catch (error) {
    if (optional && isNotFound(error)) return undefined
    throw error
  }
}
