import type { ConfigMap, Pod, Secret, Service } from '../../api/core/v1/types.generated.ts'
import { isNotFound } from '../../apimachinery/errors.ts'
import { type AnyContainer, isStatic, namespaceOf } from '../pods/pod.ts'
import { expand } from './expansion.ts'
import { type FieldSources, fieldValue, resourceValue } from './field-path.ts'
import { serviceVariables } from './service-env.ts'

export interface EnvironmentSources {
  configMap(namespace: string, name: string): Promise<ConfigMap>
  secret(namespace: string, name: string): Promise<Secret>
  /** Undefined while Services have not been read once. */
  services(): readonly Service[] | undefined
  /** Lines `KEY=value` of a file in a volume of the Pod (KEP-3721). */
  envFile?(pod: Pod, volume: string, path: string): Promise<Map<string, string>>
}

/** The environment of a container. Throws with the text that CreateContainerConfigError shows. */
export async function buildEnvironment(pod: Pod, container: AnyContainer, fields: FieldSources, sources: EnvironmentSources): Promise<Map<string, string>> {
  const namespace = namespaceOf(pod)
  const services = sources.services()
  if (!services && !isStatic(pod)) throw new Error('services have not yet been read at least once, cannot construct envvars')
  const serviceEnv = serviceVariables(services ?? [], namespace, pod.spec.enableServiceLinks ?? true)
  const out = new Map<string, string>()

  for (const from of container.envFrom ?? []) {
    const prefix = from.prefix ?? ''
    const data = from.configMapRef
      ? (await optional(sources.configMap(namespace, from.configMapRef.name ?? ''), from.configMapRef.optional))?.data
      : from.secretRef
        ? decoded(await optional(sources.secret(namespace, from.secretRef.name ?? ''), from.secretRef.optional))
        : undefined
    for (const key of Object.keys(data ?? {}).sort()) out.set(prefix + key, (data as Record<string, string>)[key] as string)
  }

  const lookUp = (name: string): string | undefined => out.get(name) ?? serviceEnv.get(name)
  for (const env of container.env ?? []) {
    const ref = env.valueFrom
    if (!ref) out.set(env.name, expand(env.value ?? '', lookUp))
    else if (ref.fieldRef) out.set(env.name, fieldValue(pod, ref.fieldRef.fieldPath, fields))
    else if (ref.resourceFieldRef) out.set(env.name, resourceValue(pod, ref.resourceFieldRef, container, fields.allocatable))
    else if (ref.configMapKeyRef) {
      const { name = '', key, optional: may } = ref.configMapKeyRef
      const map = await optional(sources.configMap(namespace, name), may)
      if (!map) continue
      const value = own(map.data, key)
      if (value === undefined) {
        if (may) continue
        throw new Error(`couldn't find key ${key} in ConfigMap ${namespace}/${name}`)
      }
      out.set(env.name, value)
    } else if (ref.secretKeyRef) {
      const { name = '', key, optional: may } = ref.secretKeyRef
      const secret = await optional(sources.secret(namespace, name), may)
      if (!secret) continue
      const value = own(secret.data, key)
      if (value === undefined) {
        if (may) continue
        throw new Error(`couldn't find key ${key} in Secret ${namespace}/${name}`)
      }
      out.set(env.name, Buffer.from(value, 'base64').toString('utf8'))
    } else if (ref.fileKeyRef && sources.envFile) {
      const { volumeName, path, key, optional: may } = ref.fileKeyRef
      const values = await sources.envFile(pod, volumeName, path)
      const value = values.get(key)
      if (value !== undefined) out.set(env.name, value)
      else if (!may) throw new Error(`environment variable key ${JSON.stringify(key)} not found in file ${JSON.stringify(path)}`)
    }
  }
  for (const [name, value] of serviceEnv) if (!out.has(name)) out.set(name, value)
  return out
}

const own = (map: Record<string, string> | undefined, key: string): string | undefined => (map && Object.hasOwn(map, key) ? map[key] : undefined)

function decoded(secret: Secret | undefined): Record<string, string> | undefined {
  if (!secret?.data) return undefined
  return Object.fromEntries(Object.entries(secret.data).map(([k, v]) => [k, Buffer.from(v, 'base64').toString('utf8')]))
}

async function optional<T>(object: Promise<T>, may: boolean | undefined): Promise<T | undefined> {
  try {
    return await object
  } catch (error) {
    if (may && isNotFound(error)) return undefined
    throw error
  }
}
