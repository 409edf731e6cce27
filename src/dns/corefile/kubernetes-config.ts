import type { DirectiveReader } from './directive-reader.ts'

export interface KubernetesConfig {
  readonly zones: readonly string[]
  readonly ttl: number
  readonly pods: 'disabled' | 'insecure' | 'verified'
  readonly namespaces: readonly string[]
  readonly labels: string | undefined
  readonly namespaceLabels: string | undefined
  readonly endpointPodNames: boolean
  readonly noEndpoints: boolean
  readonly ignoreEmpty: boolean
  readonly fallthrough: readonly string[]
  /** How long questions wait for the first state of the cluster. */
  readonly startupTimeoutMs: number
  /** Where the API server is found; neither: the Pod's own cluster. */
  readonly kubeconfig: { readonly path: string; readonly context: string | undefined } | undefined
}

export function readKubernetes(r: DirectiveReader): KubernetesConfig {
  const args = r.arguments(0, Number.POSITIVE_INFINITY)
  const c: { -readonly [K in keyof KubernetesConfig]: KubernetesConfig[K] } = {
    zones: args.length > 0 ? r.zonesOf(args) : r.serverZones,
    ttl: 5,
    pods: 'disabled',
    namespaces: [],
    labels: undefined,
    namespaceLabels: undefined,
    endpointPodNames: false,
    noEndpoints: false,
    ignoreEmpty: false,
    fallthrough: [],
    startupTimeoutMs: 5000,
    kubeconfig: undefined,
  }
  r.properties({
    ttl: (p) => {
      c.ttl = p.count(p.arguments(1, 1)[0] as string)
      if (c.ttl > 3600) p.fail(`ttl must be in range [0, 3600]: ${c.ttl}`)
    },
    pods: (p) => {
      const [mode] = p.arguments(1, 1)
      if (mode === 'disabled' || mode === 'insecure' || mode === 'verified') c.pods = mode
      else p.fail(`wrong value for pods: ${mode}, pods must be one of: disabled, verified, insecure`)
    },
    namespaces: (p) => void (c.namespaces = [...c.namespaces, ...p.arguments(1, Number.POSITIVE_INFINITY)]),
    labels: (p) => void (c.labels = p.arguments(1, Number.POSITIVE_INFINITY).join(' ')),
    namespace_labels: (p) => void (c.namespaceLabels = p.arguments(1, Number.POSITIVE_INFINITY).join(' ')),
    endpoint_pod_names: (p) => void (c.endpointPodNames = p.none()),
    noendpoints: (p) => void (c.noEndpoints = p.none()),
    ignore: (p) => {
      const [what] = p.arguments(1, 1)
      if (what !== 'empty_service') p.fail(`unable to parse ignore value: '${what}'`)
      c.ignoreEmpty = true
    },
    fallthrough: (p) => void (c.fallthrough = p.zonesOrAll()),
    startup_timeout: (p) => void (c.startupTimeoutMs = p.duration(p.arguments(1, 1)[0] as string)),
    kubeconfig: (p) => {
      const [path, context] = p.arguments(1, 2)
      c.kubeconfig = { path: path as string, context }
    },
  })
  if (c.namespaces.length > 0 && c.namespaceLabels !== undefined) r.fail('namespaces and namespace_labels cannot both be set')
  return c
}
