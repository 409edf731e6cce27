import type { Container, Pod } from '../../api/core/v1/types.generated.ts'
import { type AnyContainer, isHostNetwork, isSidecar } from '../pods/pod.ts'
import { latestContainer, type PodState } from '../runtime/pod-state.ts'
import type { ContainerStatus, PodSandboxStatus } from '../runtime/runtime.ts'
import { runtimeAnnotations } from '../runtime/runtime.ts'
import { containerHash } from './hash.ts'
import { mayRestart, restartsAfter, shouldStart } from './restart-policy.ts'

export interface Kill {
  status: ContainerStatus
  container: AnyContainer
  message: string
  /** Grace of a probe of its own. */
  graceSeconds?: number
}

/** What has to be done to bring a Pod's containers to where its spec wants them. */
export interface Actions {
  /** All running containers and sandboxes end first; nothing else follows unless a sandbox is made. */
  killPod: boolean
  createSandbox: boolean
  sandbox: PodSandboxStatus | undefined
  attempt: number
  startInit: AnyContainer[]
  start: AnyContainer[]
  startEphemeral: AnyContainer[]
  kill: Kill[]
}

export interface ActionInputs {
  /** Result of a probe: undefined where none ran or it has no say. */
  liveness(containerId: string): boolean | undefined
  startup(containerId: string): boolean | undefined
}

/** A new sandbox is needed when there is none that is ready, alone, of the right network and with an address. */
export function sandboxChanged(pod: Pod, state: PodState): { changed: boolean; attempt: number; sandbox: PodSandboxStatus | undefined } {
  const [newest] = state.sandboxes
  if (!newest) return { changed: true, attempt: 0, sandbox: undefined }
  const next = newest.metadata.attempt + 1
  const ready = state.sandboxes.filter((s) => s.state === 'READY').length
  if (ready > 1 || newest.state !== 'READY') return { changed: true, attempt: next, sandbox: newest }
  if ((newest.namespaceOptions.network === 'NODE') !== isHostNetwork(pod)) return { changed: true, attempt: next, sandbox: undefined }
  if (!isHostNetwork(pod) && newest.ips.length === 0) return { changed: true, attempt: next, sandbox: newest }
  return { changed: false, attempt: newest.metadata.attempt, sandbox: newest }
}

export function computeActions(pod: Pod, state: PodState, inputs: ActionInputs): Actions {
  const { changed, attempt, sandbox } = sandboxChanged(pod, state)
  const actions: Actions = { killPod: changed, createSandbox: changed, sandbox, attempt, startInit: [], start: [], startEphemeral: [], kill: [] }
  const init = pod.spec.initContainers ?? []

  if (changed) {
    // A Pod that ran to its end does not get a new sandbox.
    if (!pod.metadata.deletionTimestamp && !needsSandbox(pod, state, attempt)) {
      actions.createSandbox = false
      return actions
    }
    const first = init[0]
    if (first) actions.startInit.push(first)
    else actions.start.push(...pod.spec.containers.filter((c) => runsInNewSandbox(pod, c, state)))
    return actions
  }

  for (const c of pod.spec.ephemeralContainers ?? []) if (!latestContainer(state, c.name)) actions.startEphemeral.push(c)

  const regularStarted = pod.spec.containers.some((c) => latestContainer(state, c.name) !== undefined)
  const initDone = regularStarted || initialize(pod, state, actions, inputs)
  if (regularStarted) keepSidecars(pod, state, actions, inputs)
  if (!initDone) return actions

  let alive = 0
  for (const c of pod.spec.containers) {
    const status = latestContainer(state, c.name)
    if (status?.state !== 'RUNNING') {
      if (shouldStart(pod, c, state)) {
        alive++
        actions.start.push(c)
        if (status?.state === 'UNKNOWN') actions.kill.push({ status, container: c, message: 'Container is in "unknown" state, try killing it before restart' })
      }
      continue
    }
    const kill = reasonToKill(pod, c, status, inputs)
    if (!kill) {
      alive++
      continue
    }
    const again = kill.changed || mayRestart(pod, c)
    if (again) {
      alive++
      actions.start.push(c)
    }
    actions.kill.push({
      status,
      container: c,
      message: again ? `${kill.message}, will be restarted` : kill.message,
      ...(kill.graceSeconds === undefined ? {} : { graceSeconds: kill.graceSeconds }),
    })
  }
  if (alive === 0) {
    actions.killPod = true
    actions.startInit = []
    actions.kill = []
  }
  return actions
}

function needsSandbox(pod: Pod, state: PodState, attempt: number): boolean {
  if (attempt === 0) return true
  if (state.containers.length === 0) return true
  // Init that failed for good ends the Pod.
  for (const c of pod.spec.initContainers ?? []) {
    const s = latestContainer(state, c.name)
    if (s?.state === 'EXITED' && s.exitCode !== 0 && !restartsAfter(pod, c, s.exitCode)) return false
  }
  return pod.spec.containers.some((c) => runsInNewSandbox(pod, c, state))
}

/** What still runs is killed with the old sandbox and starts again; what ended for good does not. */
function runsInNewSandbox(pod: Pod, c: AnyContainer, state: PodState): boolean {
  const s = latestContainer(state, c.name)
  return s?.state !== 'EXITED' || restartsAfter(pod, c, s.exitCode)
}

function reasonToKill(
  _pod: Pod,
  c: AnyContainer,
  status: ContainerStatus,
  inputs: ActionInputs,
): { message: string; changed: boolean; graceSeconds?: number } | undefined {
  const hash = status.annotations[runtimeAnnotations.hash]
  if (hash !== undefined && hash !== containerHash(c)) return { message: `Container ${c.name} definition changed`, changed: true }
  if (inputs.liveness(status.id) === false) {
    return { message: `Container ${c.name} failed liveness probe`, changed: false, ...grace((c as Container).livenessProbe?.terminationGracePeriodSeconds) }
  }
  if (inputs.startup(status.id) === false) {
    return { message: `Container ${c.name} failed startup probe`, changed: false, ...grace((c as Container).startupProbe?.terminationGracePeriodSeconds) }
  }
  return undefined
}

const grace = (seconds: number | undefined): { graceSeconds?: number } => (seconds === undefined ? {} : { graceSeconds: seconds })

/** Goes through the init containers in order; true when all of them let the regular ones start. */
function initialize(pod: Pod, state: PodState, actions: Actions, inputs: ActionInputs): boolean {
  for (const c of pod.spec.initContainers ?? []) {
    const status = latestContainer(state, c.name)
    const own = status && belongs(status, state) ? status : undefined
    if (isSidecar(c)) {
      if (!sidecar(pod, c, own, actions, inputs)) return false
      continue
    }
    if (!own || own.state === 'CREATED' || own.state === 'UNKNOWN') {
      if (own?.state === 'UNKNOWN')
        actions.kill.push({ status: own, container: c, message: 'Init container is in "unknown" state, try killing it before restart' })
      actions.startInit.push(c)
      return false
    }
    if (own.state === 'RUNNING') return false
    if (own.exitCode === 0) continue
    if (restartsAfter(pod, c, own.exitCode)) actions.startInit.push(c)
    else actions.killPod = true
    return false
  }
  return true
}

/** @returns whether the next container may start */
function sidecar(pod: Pod, c: Container, status: ContainerStatus | undefined, actions: Actions, inputs: ActionInputs): boolean {
  if (status?.state !== 'RUNNING') {
    actions.startInit.push(c)
    return false
  }
  const kill = reasonToKill(pod, c, status, inputs)
  if (kill) {
    actions.kill.push({
      status,
      container: c,
      message: kill.changed ? `Init container definition changed` : kill.message.replace('Container', 'Init container'),
      ...(kill.graceSeconds === undefined ? {} : { graceSeconds: kill.graceSeconds }),
    })
    actions.startInit.push(c)
    return false
  }
  return c.startupProbe ? inputs.startup(status.id) === true : true
}

function keepSidecars(pod: Pod, state: PodState, actions: Actions, inputs: ActionInputs): void {
  for (const c of pod.spec.initContainers ?? []) {
    if (isSidecar(c)) sidecar(pod, c, latestContainer(state, c.name), actions, inputs)
  }
}

/** Init runs of an earlier sandbox do not count. */
function belongs(status: ContainerStatus, state: PodState): boolean {
  const [newest] = state.sandboxes
  return !newest || status.createdAt >= newest.createdAt
}
