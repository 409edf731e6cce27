import { type corev1, resources } from '../../api/index.ts'
import { isConflict } from '../../apimachinery/errors.ts'
import { type KubeObject, objectKey, type ResourceHandle } from '../../apimachinery/object.ts'
import { defaultPolicy } from '../auth/rbac/bootstrap-policy.ts'
import { type Reconciliation, reconcileBinding, reconcileRole } from '../auth/rbac/reconcile.ts'
import { atOnce } from './at-once.ts'
import { createIfMissing } from './ensure.ts'
import type { HookContext, PostStartHook } from './hook.ts'

const GIVE_UP_MS = 30_000
const RETRY_MS = 1000
const CONFLICT_RETRIES = 5

/** Brings roles and bindings to what a fresh cluster has, without taking away what was added; tried for 30 s. */
export function rbacBootstrapHook(context: HookContext, isEnabled: (gate: string) => boolean): PostStartHook {
  return {
    name: 'rbac/bootstrap-roles',
    async run(signal) {
      const { clock, log } = context
      const end = clock.monotonic() + GIVE_UP_MS
      for (;;) {
        const failures = await reconcileAll(context, isEnabled)
        if (failures.length === 0) return
        for (const failure of failures) log.error('unable to reconcile RBAC bootstrap policy', { err: String(failure) })
        if (clock.monotonic() >= end) throw new Error(`unable to initialize roles: ${failures[0]?.message}`)
        await clock.sleep(RETRY_MS, signal)
      }
    },
  }
}

async function reconcileAll(context: HookContext, isEnabled: (gate: string) => boolean): Promise<Error[]> {
  const policy = defaultPolicy(isEnabled)
  const { clusterroles, clusterrolebindings, roles, rolebindings } = resources.rbacv1
  const failures: Error[] = []
  const namespaces = new Map<string, Promise<void>>()
  const ensured = (name: string): Promise<void> => {
    let made = namespaces.get(name)
    if (!made) namespaces.set(name, (made = ensureNamespace(context.client, name)))
    return made
  }
  const all = async <T extends KubeObject>(handle: ResourceHandle<T>, wanted: readonly T[], decide: (want: T, have: T) => Reconciliation<T>) => {
    try {
      await reconcileKind(context, handle, wanted, decide, failures, ensured)
    } catch (error) {
      failures.push(error as Error)
    }
  }
  // Roles first: a binding never stands without its role.
  await Promise.all([all(clusterroles, policy.clusterRoles, reconcileRole), all(roles, policy.roles, reconcileRole as never)])
  await Promise.all([all(clusterrolebindings, policy.clusterRoleBindings, reconcileBinding as never), all(rolebindings, policy.roleBindings, reconcileBinding)])
  return failures
}

async function reconcileKind<T extends KubeObject>(
  { client, log }: HookContext,
  handle: ResourceHandle<T>,
  wanted: readonly T[],
  decide: (want: T, have: T) => Reconciliation<T>,
  failures: Error[],
  ensured: (namespace: string) => Promise<void>,
): Promise<void> {
  const stored = new Map((await client.resource(handle).list()).items.map((o) => [objectKey(o), o]))
  const one = async (want: T): Promise<void> => {
    const { namespace, name } = want.metadata
    const api = client.resource(handle).namespace(namespace)
    let have = stored.get(objectKey(want))
    for (let attempt = 0; ; attempt++) {
      try {
        if (!have) {
          if (namespace?.startsWith('kube-')) await ensured(namespace)
          if (await createIfMissing(client, handle, want)) return
          have = await api.get(name ?? '')
        }
        const decision = decide(want, have)
        if (decision.action === 'protected') log.warn('skipped RBAC object that lacks some of its default', { kind: handle.kind, name })
        if (decision.action === 'update') await api.update(decision.object)
        if (decision.action === 'recreate') {
          await api.delete(name ?? '')
          await api.create(decision.object)
        }
        return
      } catch (error) {
        if (!isConflict(error) || attempt >= CONFLICT_RETRIES) throw error
        have = await api.get(name ?? '')
      }
    }
  }
  await atOnce(wanted, (want) => one(want).catch((error: Error) => failures.push(error)))
}

async function ensureNamespace(client: HookContext['client'], name: string): Promise<void> {
  await createIfMissing(client, resources.corev1.namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } } as corev1.Namespace)
}
