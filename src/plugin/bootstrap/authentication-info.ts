import { type corev1, resources } from '../../api/index.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { getOrUndefined } from '../../client/rest/client.ts'
import { decodePem, encodePem } from '../../component-base/x509/index.ts'
import { createIfMissing } from './ensure.ts'
import { type HookContext, keepDoing, type PostStartHook } from './hook.ts'

export interface AuthenticationInfo {
  /** PEM of the authorities of users. */
  readonly clientCa?: string
  readonly requestHeader?: {
    readonly clientCa: string
    readonly allowedNames: readonly string[]
    /** Also trust a uid header. */
    readonly uidHeaders?: boolean
  }
}

const NAMESPACE = 'kube-system'
const NAME = 'extension-apiserver-authentication'
const PERIOD_MS = 60_000

/** Publishes how this server knows its users, for the servers it forwards to; several servers' authorities are joined. */
export function authenticationInfoHook(context: HookContext, info: AuthenticationInfo): PostStartHook {
  const api = context.client.resource(resources.corev1.configmaps).namespace(NAMESPACE)
  const ensure = async () => {
    const have = await getOrUndefined(api, NAME)
    const data = mergedData(info, have?.data ?? {})
    if (!have) {
      await createIfMissing(context.client, resources.corev1.namespaces, {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: NAMESPACE },
      } as corev1.Namespace)
      await createIfMissing(context.client, resources.corev1.configmaps, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: NAME, namespace: NAMESPACE },
        data,
      } as corev1.ConfigMap)
    } else if (!deepEqual(have.data, data)) {
      await api.update({ ...(deepCopy(have) as corev1.ConfigMap), data })
    }
  }
  return {
    name: 'start-cluster-authentication-info-controller',
    run: (signal) => keepDoing('cluster authentication info', ensure, PERIOD_MS, context, signal),
  }
}

function mergedData(info: AuthenticationInfo, have: Readonly<Record<string, string>>): Record<string, string> {
  const data: Record<string, string> = { ...have }
  if (info.clientCa) data['client-ca-file'] = mergePem(have['client-ca-file'], info.clientCa)
  const proxy = info.requestHeader
  if (!proxy) return data
  const list = (key: string, values: readonly string[]) => {
    data[key] = JSON.stringify([...new Set([...parseList(have[key]), ...values])])
  }
  data['requestheader-client-ca-file'] = mergePem(have['requestheader-client-ca-file'], proxy.clientCa)
  list('requestheader-allowed-names', proxy.allowedNames)
  list('requestheader-username-headers', ['X-Remote-User'])
  if (proxy.uidHeaders) list('requestheader-uid-headers', ['X-Remote-Uid'])
  list('requestheader-group-headers', ['X-Remote-Group'])
  list('requestheader-extra-headers-prefix', ['X-Remote-Extra-'])
  return data
}

function parseList(text: string | undefined): string[] {
  try {
    const value: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(value) ? value.filter((v): v is string => typeof v === 'string') : []
  } catch {
    return []
  }
}

function mergePem(have: string | undefined, own: string): string {
  const blocks = [have ?? '', own].flatMap((text) => decodePem(text)).map((b) => encodePem(b.type, b.bytes))
  return [...new Set(blocks)].join('')
}
