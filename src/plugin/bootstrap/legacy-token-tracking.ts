import { type corev1, resources } from '../../api/index.ts'
import { createIfMissing } from './ensure.ts'
import { type HookContext, keepDoing, type PostStartHook } from './hook.ts'

const NAME = 'kube-apiserver-legacy-service-account-token-tracking'
const PERIOD_MS = 60_000

/** Notes the day from which on the use of old, never expiring tokens is known. */
export function legacyTokenTrackingHook(context: HookContext): PostStartHook {
  const ensure = async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system' } }
    await createIfMissing(context.client, resources.corev1.namespaces, namespace as corev1.Namespace)
    const since = new Date(context.clock.now()).toISOString().slice(0, 10)
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: NAME, namespace: 'kube-system' }, data: { since } }
    await createIfMissing(context.client, resources.corev1.configmaps, object as corev1.ConfigMap)
  }
  return { name: 'start-legacy-token-tracking-controller', run: (signal) => keepDoing('legacy token tracking', ensure, PERIOD_MS, context, signal) }
}
