import type { Container, ContainerStatus, Pod } from '../../api/core/v1/types.generated.ts'
import { isSidecar, isStatic } from '../pods/pod.ts'
import { mayRestart, policyOf, restartsAfter } from '../sync/restart-policy.ts'

/** The phase that container statuses add up to. `terminating`: the kubelet has begun to end the Pod. */
export function podPhase(pod: Pod, statuses: { init: ContainerStatus[]; regular: ContainerStatus[] }, terminating: boolean): string {
  const find = (list: ContainerStatus[], name: string) => list.find((s) => s.name === name)
  const anyRegularStarted = statuses.regular.some((s) => s.state.running || s.state.terminated || s.lastState.terminated)

  let pendingInit = 0
  let failedInit = 0
  let pendingSidecar = false
  for (const c of pod.spec.initContainers ?? []) {
    const status = find(statuses.init, c.name)
    if (isSidecar(c)) {
      if (!anyRegularStarted && !status?.started) pendingSidecar = true
      continue
    }
    const ended = status?.state.terminated
    const before = status?.state.waiting ? status.lastState.terminated : undefined
    if (!status) pendingInit++
    else if (status.state.running) pendingInit++
    else if (ended) {
      if (ended.exitCode !== 0) {
        if (!restartsAfter(pod, c, ended.exitCode)) failedInit++
        else pendingInit++
      }
    } else if (before) {
      if (before.exitCode !== 0) {
        if (!restartsAfter(pod, c, before.exitCode)) failedInit++
        else pendingInit++
      }
    } else pendingInit++
  }

  let unknown = 0
  let running = 0
  let waiting = 0
  let stopped = 0
  let succeeded = 0
  let restartable = 0
  const count = (c: Container, status: ContainerStatus | undefined, sidecar: boolean) => {
    if (!status) {
      if (!sidecar) unknown++
      return
    }
    if (status.state.running) {
      if (!sidecar) running++
    } else if (status.state.terminated) {
      if (sidecar) return
      stopped++
      if (status.state.terminated.exitCode === 0) succeeded++
      if (restartsAfter(pod, c, status.state.terminated.exitCode)) restartable++
    } else if (status.state.waiting) {
      if (status.lastState.terminated) {
        if (sidecar) return
        stopped++
        if (restartsAfter(pod, c, status.lastState.terminated.exitCode)) restartable++
        else if (status.lastState.terminated.exitCode === 0) succeeded++
      } else waiting++
    } else unknown++
  }
  for (const c of pod.spec.initContainers ?? []) if (isSidecar(c)) count(c, find(statuses.init, c.name), true)
  for (const c of pod.spec.containers) count(c, find(statuses.regular, c.name), false)

  if (failedInit > 0) return 'Failed'
  if ((pendingInit > 0 && !anyRegularStarted) || pendingSidecar || waiting > 0) return 'Pending'
  if (running > 0 && unknown === 0) return 'Running'
  if (running === 0 && stopped > 0 && unknown === 0) {
    if (terminating && !isStatic(pod)) return succeeded === stopped ? 'Succeeded' : 'Failed'
    if (restartable > 0 || (policyOf(pod, pod.spec.containers[0] as Container) === 'Always' && mayRestart(pod, pod.spec.containers[0] as Container)))
      return 'Running'
    return succeeded === stopped ? 'Succeeded' : 'Failed'
  }
  return 'Pending'
}
