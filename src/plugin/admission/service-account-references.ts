import type { corev1 } from '../../api/index.ts'
import type { AdmissionAttributes } from '../../apiserver/admission/admission.ts'
import { refused } from './refusal.ts'

type AnyContainer = Pick<corev1.Container, 'name' | 'env' | 'envFrom'>

/** Secrets a Pod takes, with the words in which each is refused, in the order they are looked at. */
function* secretReferences(pod: corev1.Pod, ephemeralOnly: boolean): Generator<{ secret: string; text: string }> {
  const { spec } = pod
  if (ephemeralOnly) {
    yield* containerReferences('ephemeral container', spec.ephemeralContainers)
    return
  }
  for (const volume of spec.volumes ?? []) {
    if (volume.secret?.secretName) yield { secret: volume.secret.secretName, text: 'volume with' }
  }
  yield* containerReferences('init container', spec.initContainers)
  yield* containerReferences('container', spec.containers ?? [])
  yield* containerReferences('ephemeral container', spec.ephemeralContainers)
}

function* containerReferences(kind: string, containers: readonly AnyContainer[] | undefined): Generator<{ secret: string; text: string }> {
  for (const { name, env, envFrom } of containers ?? []) {
    for (const variable of env ?? []) {
      const secret = variable.valueFrom?.secretKeyRef?.name
      if (secret !== undefined) yield { secret, text: `${kind} ${name} with envVar ${variable.name} referencing` }
    }
    for (const source of envFrom ?? []) {
      const secret = source.secretRef?.name
      if (secret !== undefined) yield { secret, text: `${kind} ${name} with envFrom referencing` }
    }
  }
}

/** An account that is marked so lets its Pods use only the secrets it lists. @throws StatusError Forbidden */
export function checkMountable(attributes: AdmissionAttributes, pod: corev1.Pod, account: corev1.ServiceAccount, ephemeralOnly: boolean): void {
  if (account.metadata.annotations?.['kubernetes.io/enforce-mountable-secrets'] !== 'true') return
  const mountable = new Set(account.secrets?.map((s) => s.name))
  const name = account.metadata.name
  for (const { secret, text } of secretReferences(pod, ephemeralOnly)) {
    if (mountable.has(secret)) continue
    throw refused(attributes, `${text} secret.secretName="${secret}" is not allowed because service account ${name} does not reference that secret`)
  }
  if (ephemeralOnly) return
  const pullable = new Set(account.imagePullSecrets?.map((s) => s.name))
  for (const [i, { name: secret }] of (pod.spec.imagePullSecrets ?? []).entries()) {
    if (pullable.has(secret)) continue
    throw refused(attributes, `imagePullSecrets[${i}].name="${secret}" is not allowed because service account ${name} does not reference that imagePullSecret`)
  }
}

/** Mirror Pods show what a node runs anyway; they take nothing from the API. @throws StatusError Forbidden */
export function checkMirrorPod(attributes: AdmissionAttributes, pod: corev1.Pod): void {
  if (pod.spec.serviceAccountName) throw refused(attributes, 'a mirror pod may not reference service accounts')
  if (hasSecrets(pod)) throw refused(attributes, 'a mirror pod may not reference secrets')
  const tokens = pod.spec.volumes?.some((v) => v.projected?.sources?.some((s) => s.serviceAccountToken))
  if (tokens) throw refused(attributes, 'a mirror pod may not use ServiceAccountToken volume projections')
}

function hasSecrets(pod: corev1.Pod): boolean {
  for (const _ of secretReferences(pod, false)) return true
  return (pod.spec.imagePullSecrets?.length ?? 0) > 0 || (pod.spec.volumes?.some((v) => v.projected?.sources?.some((s) => s.secret)) ?? false)
}
