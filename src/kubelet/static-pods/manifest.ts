import { load } from 'js-yaml'
import type { Container, Pod } from '../../api/core/v1/types.generated.ts'
import { fnv1a128 } from '../../base/fnv.ts'
import { allContainers, annotations } from '../pods/pod.ts'

export const MAX_MANIFEST_BYTES = 10 * 1024 * 1024

export interface ManifestContext {
  nodeName: string
  /** Absolute path of the file. */
  file: string
  /** When it was seen, as the annotation prints it. */
  seen: string
  /** The API's defaults; the kubelet's own short list is used without it. */
  applyDefaults?: (pod: Pod) => void
  /** The API's validation: texts of what is wrong. */
  validate?: (pod: Pod) => string[]
}

/** A Pod out of a manifest's text. Throws with why it is refused. */
export function podFromManifest(text: string, context: ManifestContext): Pod {
  const { file, nodeName } = context
  let parsed: unknown
  try {
    parsed = load(text)
  } catch (error) {
    throw new Error(`${file}: couldn't parse as pod(${(error as Error).message.split('\n')[0]}), please check config file`)
  }
  const raw = parsed as Pod | null | undefined
  if (raw === null || typeof raw !== 'object' || Array.isArray(raw) || raw.kind !== 'Pod' || raw.apiVersion !== 'v1') {
    throw new Error(`${file}: couldn't parse as pod(invalid pod: ${JSON.stringify((raw as Pod | null)?.kind ?? null)}), please check config file`)
  }
  if (!raw.metadata?.name) throw new Error('invalid pod: name is needed for the pod')
  if (!Array.isArray(raw.spec?.containers) || raw.spec.containers.length === 0) throw new Error('invalid pod: spec.containers: Required value')
  const given = JSON.parse(JSON.stringify(raw)) as Pod
  const uid =
    given.metadata.uid ||
    fnv1a128(new TextEncoder().encode(`${JSON.stringify(given)}host:${nodeName}file:${file}`))
      .toString(16)
      .padStart(32, '0')
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...given.metadata,
      name: `${given.metadata.name}-${nodeName.toLowerCase()}`,
      namespace: given.metadata.namespace || 'default',
      uid,
      annotations: {
        ...given.metadata.annotations,
        [annotations.hash]: uid,
        [annotations.seen]: context.seen,
        [annotations.source]: 'file',
      },
    },
    spec: { ...given.spec, nodeName, tolerations: [...(given.spec.tolerations ?? []), { operator: 'Exists', effect: 'NoExecute' }] },
    status: { phase: 'Pending' },
  }
  delete pod.metadata.generateName
  ;(context.applyDefaults ?? applyDefaults)(pod)
  const wrong = [
    ...(context.validate?.(pod) ?? []),
    ...(pod.spec.ephemeralContainers?.length ? ['spec.ephemeralContainers: Forbidden: cannot be set on create'] : []),
  ]
  if (wrong.length > 0) throw new Error(`invalid pod: ${wrong.length === 1 ? wrong[0] : `[${wrong.join(', ')}]`}`)
  const reference = apiReference(pod)
  if (reference) throw new Error(`static pods may not reference ${reference}`)
  return pod
}

/** The first API object the Pod refers to; static Pods are kept free of them. */
function apiReference(pod: Pod): string | undefined {
  if (pod.spec.serviceAccountName || pod.spec.serviceAccount) return 'serviceaccounts'
  for (const c of allContainers(pod)) {
    for (const e of c.env ?? []) {
      if (e.valueFrom?.secretKeyRef) return 'secrets'
      if (e.valueFrom?.configMapKeyRef) return 'configmaps'
    }
    for (const e of c.envFrom ?? []) {
      if (e.secretRef) return 'secrets'
      if (e.configMapRef) return 'configmaps'
    }
  }
  if (pod.spec.imagePullSecrets?.length) return 'secrets'
  if (pod.spec.resourceClaims?.length) return 'resourceclaims'
  for (const v of pod.spec.volumes ?? []) {
    if (v.configMap) return 'configmaps (via configmap volumes)'
    if (v.secret) return 'secrets (via secret volumes)'
    if (v.csi) return 'csidrivers (via CSI volumes)'
    if (v.glusterfs) return 'endpoints (via glusterFS volumes)'
    if (v.persistentVolumeClaim) return 'persistentvolumeclaims'
    if (v.ephemeral) return 'persistentvolumeclaims (via ephemeral volumes)'
    if (v.azureFile) return 'secrets (via azureFile volumes)'
    for (const p of v.projected?.sources ?? []) {
      if (p.configMap) return 'configmaps (via projected volumes)'
      if (p.secret) return 'secrets (via projected volumes)'
      if (p.serviceAccountToken) return 'serviceaccounts (via projected volumes)'
      if (p.clusterTrustBundle) return 'clustertrustbundles'
      if (p.podCertificate) return 'podcertificates'
    }
  }
  return undefined
}

/** The defaults of core/v1 that matter for what a manifest usually holds. */
export function applyDefaults(pod: Pod): void {
  const { spec } = pod
  spec.restartPolicy ??= 'Always'
  spec.dnsPolicy ??= 'ClusterFirst'
  spec.terminationGracePeriodSeconds ??= 30
  spec.securityContext ??= {}
  spec.schedulerName ??= 'default-scheduler'
  spec.enableServiceLinks ??= true
  for (const c of [...spec.containers, ...(spec.initContainers ?? [])]) containerDefaults(c, spec.hostNetwork === true)
  for (const v of spec.volumes ?? []) if (v.hostPath) v.hostPath.type ??= ''
}

function containerDefaults(c: Container, hostNetwork: boolean): void {
  c.resources ??= {}
  c.terminationMessagePath ??= '/dev/termination-log'
  c.terminationMessagePolicy ??= 'File'
  c.imagePullPolicy ??= /@/.test(c.image ?? '') || (/:[^/]+$/.test(c.image ?? '') && !/:latest$/.test(c.image ?? '')) ? 'IfNotPresent' : 'Always'
  for (const p of c.ports ?? []) {
    p.protocol ??= 'TCP'
    if (hostNetwork) p.hostPort ??= p.containerPort
  }
  for (const probe of [c.livenessProbe, c.readinessProbe, c.startupProbe]) {
    if (!probe) continue
    probe.timeoutSeconds ??= 1
    probe.periodSeconds ??= 10
    probe.successThreshold ??= 1
    probe.failureThreshold ??= 3
    if (probe.httpGet) {
      probe.httpGet.path ??= '/'
      probe.httpGet.scheme ??= 'HTTP'
    }
  }
  for (const r of Object.keys(c.resources.limits ?? {})) {
    c.resources.requests ??= {}
    c.resources.requests[r] ??= (c.resources.limits as Record<string, string>)[r] as string
  }
}
