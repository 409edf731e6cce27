import { promises as fs } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Container, Pod, Secret } from '../../api/core/v1/types.generated.ts'
import type { Clock, Random } from '../../base/index.ts'
import type { EventRecorder } from '../../client/record/event-recorder.ts'
import type { Logger } from '../../component-base/component.ts'
import { buildEnvironment, type EnvironmentSources } from '../env/environment.ts'
import type { FieldSources } from '../env/field-path.ts'
import type { ImageManager } from '../images/image-manager.ts'
import {
  type AnyContainer,
  containerReference,
  findContainer,
  format,
  fullName,
  isHostNetwork,
  isSidecar,
  podReference,
  specGracePeriod,
  uidOf,
} from '../pods/pod.ts'
import { latestContainer, type PodState } from '../runtime/pod-state.ts'
import { type ContainerRuntime, type ContainerStatus, type LinuxContainerResources, type PodSandboxConfig, runtimeAnnotations } from '../runtime/runtime.ts'
import { restartCountOf } from '../status/container-statuses.ts'
import { goDuration } from '../time.ts'
import type { Mounter } from '../volumes/mounter.ts'
import { type ActionInputs, computeActions } from './actions.ts'
import { containerConfig } from './container-config.ts'
import { CrashBackoff } from './crash-backoff.ts'
import { containerHash } from './hash.ts'
import { writeHostsFile } from './hosts-file.ts'
import { runHook } from './lifecycle-hooks.ts'
import { pendingResizes, resizeText } from './resize.ts'
import { hostnameOf, sandboxConfig } from './sandbox-config.ts'
import { StartError } from './start-error.ts'

export interface PodRuntimeOptions {
  runtime: ContainerRuntime
  clock: Clock
  random: Random
  log: Logger
  recorder: EventRecorder
  images: ImageManager
  rootDir: string
  logDir: string
  /** `/var/log/containers`, when its links are wanted. */
  containerLogDir: string | undefined
  clusterDomain: string
  maxBackoffMs: number
  mounter: Mounter | undefined
  memoryCapacity: number
  cgroupRoot: string | undefined
  environment: EnvironmentSources
  inputs: ActionInputs
  dnsOf(pod: Pod): Promise<PodSandboxConfig['dnsConfig'] & object>
  fieldsOf(pod: Pod, podIPs: readonly string[]): FieldSources
  volumePath(podUid: string, name: string): string | undefined
  handlerOf(pod: Pod): string
  /** The sandbox and its network are up. */
  onSandboxReady(pod: Pod, ips: string[]): void
}

export interface SyncResult {
  /** Something was started, stopped or made: the state is to be read again. */
  changed: boolean
  error: Error | undefined
  /** The error is only a wait that ends then, in ms since the epoch. */
  retryAt: number | undefined
}

const BACKOFF_MS = 10_000
const MIN_STOP_SECONDS = 2

/** Acts on the runtime for one Pod at a time: what `computeActions` says, the start of each container, and the end of all. */
export class PodRuntime {
  private readonly options: PodRuntimeOptions
  private readonly backoff: CrashBackoff
  /** Why containers do not start, by Pod uid and container name. */
  private readonly failures = new Map<string, Map<string, StartError>>()

  constructor(options: PodRuntimeOptions) {
    this.options = options
    this.backoff = new CrashBackoff(options.clock, BACKOFF_MS, options.maxBackoffMs)
  }

  /** What containers were given, by id: a difference to the spec is a resize. */
  private readonly applied = new Map<string, LinuxContainerResources>()

  startFailure(podUid: string, container: string): { reason: string; message: string } | undefined {
    return this.failures.get(podUid)?.get(container)
  }

  forget(podUid: string): void {
    this.failures.delete(podUid)
    this.backoff.forget(`${podUid}|`)
    this.options.images.forget(podUid)
  }

  gc(): void {
    this.backoff.gc()
  }

  async syncPod(pod: Pod, state: PodState, secrets: readonly Secret[], signal: AbortSignal): Promise<SyncResult> {
    const { runtime, recorder } = this.options
    const actions = computeActions(pod, state, this.options.inputs)
    let changed = false
    const errors: Error[] = []
    let retryAt: number | undefined

    if (actions.killPod) {
      if (actions.createSandbox && actions.sandbox)
        recorder.event(podReference(pod), 'Normal', 'SandboxChanged', 'Pod sandbox changed, it will be killed and re-created.')
      if (state.containers.some((c) => c.state === 'RUNNING') || state.sandboxes.some((s) => s.state === 'READY')) {
        await this.killPod(pod, state, undefined)
        changed = true
      }
      if (actions.createSandbox) await this.purgeInit(pod, state)
      if (!actions.createSandbox) return { changed, error: undefined, retryAt: undefined }
    } else {
      for (const kill of actions.kill) {
        await this.killContainer(pod, kill.status, kill.container, kill.message, kill.graceSeconds)
        changed = true
      }
    }
    signal.throwIfAborted()
    if (!actions.killPod && (await this.resize(pod, state))) changed = true

    if (!actions.createSandbox && actions.startInit.length + actions.start.length + actions.startEphemeral.length === 0) {
      return { changed, error: undefined, retryAt: undefined }
    }

    let config: PodSandboxConfig
    let sandboxId = actions.sandbox?.id ?? ''
    let ips = actions.sandbox?.ips ?? []
    try {
      config = sandboxConfig(pod, actions.attempt, {
        logDir: this.options.logDir,
        clusterDomain: this.options.clusterDomain,
        dns: await this.options.dnsOf(pod),
        rootDir: this.options.rootDir,
        ...(this.options.cgroupRoot === undefined ? {} : { cgroupRoot: this.options.cgroupRoot }),
      })
      if (actions.createSandbox) {
        if (!this.isPretend(pod)) await this.options.clock.track(fs.mkdir(config.logDirectory, { recursive: true, mode: 0o755 }))
        sandboxId = await runtime.runPodSandbox(config, this.options.handlerOf(pod), signal)
        changed = true
        const status = await runtime.podSandboxStatus(sandboxId)
        ips = status.ips
        this.options.onSandboxReady(pod, ips)
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason
      recorder.event(podReference(pod), 'Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${(error as Error).message}`)
      return { changed, error: error as Error, retryAt: undefined }
    }
    signal.throwIfAborted()

    const launch = async (c: AnyContainer): Promise<boolean> => {
      const failed = this.failuresOf(uidOf(pod))
      try {
        const wait = this.restartDelay(pod, c, state)
        if (wait) throw wait
        await this.start(pod, c, state, { sandboxId, config, ips, secrets, signal })
        failed.delete(c.name)
        changed = true
        return true
      } catch (error) {
        if (signal.aborted) throw signal.reason
        const failure = error instanceof StartError ? error : new StartError('RunContainerError', (error as Error).message)
        failed.set(c.name, failure)
        errors.push(failure)
        if (failure.retryAt !== undefined) retryAt = Math.min(retryAt ?? Number.POSITIVE_INFINITY, failure.retryAt)
        // A failed start still leaves a container behind.
        if (failure.reason === 'RunContainerError' || failure.reason === 'PostStartHookError') changed = true
        return false
      }
    }
    for (const c of actions.startEphemeral) await launch(c)
    for (const c of actions.startInit) {
      const ok = await launch(c)
      if (!ok && !isSidecar(c)) return this.result(changed, errors, retryAt)
    }
    for (const c of actions.start) await launch(c)
    return this.result(changed, errors, retryAt)
  }

  private result(changed: boolean, errors: Error[], retryAt: number | undefined): SyncResult {
    const onlyWaits = errors.length > 0 && errors.every((e) => e instanceof StartError && e.retryAt !== undefined)
    return { changed, error: errors[0], retryAt: onlyWaits ? retryAt : undefined }
  }

  private failuresOf(uid: string): Map<string, StartError> {
    let map = this.failures.get(uid)
    if (!map) {
      map = new Map()
      this.failures.set(uid, map)
    }
    return map
  }

  /** The wait a container that ended has before it may start again; otherwise notes this restart. */
  private restartDelay(pod: Pod, c: AnyContainer, state: PodState): StartError | undefined {
    const last = state.containers.find((s) => s.metadata.name === c.name && s.state === 'EXITED')
    if (!last) return undefined
    const key = `${uidOf(pod)}|${c.name}|${containerHash(c)}|${JSON.stringify(c.resources ?? {})}`
    if (this.backoff.waitingSince(key, last.finishedAt)) {
      const delay = goDuration(this.backoff.get(key))
      this.options.recorder.event(containerReference(pod, c.name), 'Warning', 'BackOff', `Back-off restarting failed container ${c.name} in pod ${format(pod)}`)
      return new StartError(
        'CrashLoopBackOff',
        `back-off ${delay} restarting failed container=${c.name} pod=${format(pod)}`,
        this.backoff.endsAt(key, last.finishedAt),
      )
    }
    this.backoff.next(key, last.finishedAt)
    return undefined
  }

  private isPretend(pod: Pod): boolean {
    const { runtime } = this.options
    return (runtime.forHandler?.(this.options.handlerOf(pod)) ?? runtime).pretend !== undefined
  }

  private async start(
    pod: Pod,
    c: AnyContainer,
    state: PodState,
    o: { sandboxId: string; config: PodSandboxConfig; ips: string[]; secrets: readonly Secret[]; signal: AbortSignal },
  ): Promise<void> {
    const { runtime, recorder, clock } = this.options
    const about = containerReference(pod, c.name)
    const handler = this.options.handlerOf(pod)
    const pretend = this.isPretend(pod)
    const failed = (reason: string, error: unknown): never => {
      recorder.event(about, 'Warning', 'Failed', `Error: ${(error as Error).message}`)
      throw new StartError(reason, (error as Error).message)
    }
    let imageRef: string
    try {
      imageRef = await this.options.images.ensure(pod, c, about, { secrets: o.secrets, sandboxConfig: o.config, runtimeHandler: handler, signal: o.signal })
    } catch (error) {
      if (error instanceof StartError) recorder.event(about, 'Warning', 'Failed', `Error: ${error.reason}`)
      throw error
    }
    const previous = latestContainer(state, c.name)
    const attempt = previous ? restartCountOf(previous) + 1 : pretend ? 0 : await clock.track(nextLogNumber(join(o.config.logDirectory, c.name)))
    const podDir = join(this.options.rootDir, 'pods', uidOf(pod))

    let config: Awaited<ReturnType<typeof containerConfig>>
    try {
      const ips = isHostNetwork(pod) ? [] : o.ips
      const env = await buildEnvironment(pod, c, this.options.fieldsOf(pod, ips), this.options.environment)
      let hostsFile: string | undefined
      if (!pretend && (o.ips.length > 0 || isHostNetwork(pod))) {
        hostsFile = join(podDir, 'etc-hosts')
        await clock.track(writeHostsFile(hostsFile, pod, o.ips, hostnameOf(pod, this.options.clusterDomain)))
      }
      const target = (c as { targetContainerName?: string }).targetContainerName
      const image = await runtime.images.imageStatus({ image: imageRef, ...(handler ? { runtimeHandler: handler } : {}) })
      const made = containerConfig(pod, c, {
        env,
        attempt,
        imageRef,
        image,
        podDir,
        rootDir: this.options.rootDir,
        hostsFile,
        volumePath: (name) => this.options.volumePath(uidOf(pod), name),
        mounter: this.options.mounter,
        random: this.options.random,
        targetId: target ? latestContainer(state, target)?.id : undefined,
        memoryCapacity: this.options.memoryCapacity,
        runtimeHandler: handler,
        pretend,
      })
      config = await clock.track(made)
      if (!pretend) await clock.track(fs.mkdir(join(o.config.logDirectory, c.name), { recursive: true, mode: 0o755 }))
    } catch (error) {
      return failed('CreateContainerConfigError', error)
    }
    o.signal.throwIfAborted()

    let id: string
    try {
      id = await runtime.createContainer(o.sandboxId, config, o.config)
    } catch (error) {
      return failed('CreateContainerError', error)
    }
    recorder.event(about, 'Normal', 'Created', 'Container created')
    this.applied.set(id, config.linux.resources)
    try {
      await runtime.startContainer(id)
    } catch (error) {
      return failed('RunContainerError', error)
    }
    recorder.event(about, 'Normal', 'Started', 'Container started')
    if (!pretend) await this.linkLog(pod, c.name, id, join(o.config.logDirectory, config.logPath)).catch(() => {})

    const postStart = c.lifecycle?.postStart
    if (postStart) {
      try {
        await runHook(pod, c, id, postStart, { runtime, clock, podIP: o.ips[0] ?? '', signal: o.signal })
      } catch (error) {
        if (o.signal.aborted) throw o.signal.reason
        recorder.event(about, 'Warning', 'FailedPostStartHook', 'PostStartHook failed')
        const status = await runtime.containerStatus(id)
        await this.killContainer(pod, status, c, 'FailedPostStartHook', undefined)
        throw new StartError('PostStartHookError', (error as Error).message)
      }
    }
  }

  /** Brings running containers to the resources of the spec. @returns whether anything was done */
  private async resize(pod: Pod, state: PodState): Promise<boolean> {
    const { runtime, recorder, memoryCapacity } = this.options
    for (const c of state.containers) {
      // A container of an earlier kubelet: what the runtime says is in force.
      if (c.state === 'RUNNING' && c.resources && !this.applied.has(c.id)) this.applied.set(c.id, c.resources)
    }
    const resizes = pendingResizes(pod, state.containers, this.applied, memoryCapacity)
    if (resizes.length === 0) return false
    recorder.event(podReference(pod), 'Normal', 'ResizeStarted', `Pod resize started: ${resizeText(pod, resizes)}`)
    try {
      for (const r of resizes) {
        if (r.restart) {
          await this.killContainer(pod, r.status, r.container, `Container ${r.container.name} resize requires restart`, undefined)
          continue
        }
        await runtime.updateContainerResources(r.status.id, r.resources)
        this.applied.set(r.status.id, { ...this.applied.get(r.status.id), ...r.resources })
      }
      recorder.event(podReference(pod), 'Normal', 'ResizeCompleted', `Pod resize completed: ${resizeText(pod, resizes)}`)
    } catch (error) {
      recorder.event(podReference(pod), 'Warning', 'ResizeError', `Pod resize error: ${resizeText(pod, resizes, (error as Error).message)}`)
    }
    return true
  }

  private async linkLog(pod: Pod, container: string, id: string, log: string): Promise<void> {
    const dir = this.options.containerLogDir
    const owner = this.options.runtime.route?.(id) ?? this.options.runtime
    if (!dir || owner.logs) return
    await fs.mkdir(dir, { recursive: true, mode: 0o755 })
    const suffix = `_${container}-${id}.log`
    await fs.symlink(log, join(dir, `${fullName(pod).slice(0, 255 - suffix.length)}${suffix}`))
  }

  /**
   * Ends all containers and the sandboxes of a Pod: regular containers together, then sidecars in reverse order, all within the grace period.
   * @param graceSeconds overrides the Pod's own
   */
  async killPod(pod: Pod, state: PodState, graceSeconds: number | undefined): Promise<void> {
    const { clock } = this.options
    const running = state.containers.filter((s) => s.state === 'RUNNING' || s.state === 'CREATED')
    const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar).map((c) => c.name)
    const began = clock.monotonic()
    const grace = graceSeconds ?? pod.metadata.deletionGracePeriodSeconds ?? specGracePeriod(pod)
    const kill = (s: ContainerStatus, left: number) => {
      const c = findContainer(pod, s.metadata.name)
      return this.killContainer(pod, s, c, `Stopping container ${s.metadata.name}`, left)
    }
    await Promise.all(running.filter((s) => !sidecars.includes(s.metadata.name)).map((s) => kill(s, grace)))
    for (const name of sidecars.toReversed()) {
      const left = Math.max(0, Math.ceil(grace - (clock.monotonic() - began) / 1000))
      await Promise.all(running.filter((s) => s.metadata.name === name).map((s) => kill(s, left)))
    }
    for (const s of state.sandboxes) if (s.state === 'READY') await this.options.runtime.stopPodSandbox(s.id)
  }

  /** preStop, then the stop signal, then the kill: all within the grace period. */
  async killContainer(pod: Pod, status: ContainerStatus, c: AnyContainer | undefined, message: string, graceOverride: number | undefined): Promise<void> {
    const { runtime, recorder, clock } = this.options
    const name = status.metadata.name
    let grace = graceOverride ?? pod.metadata.deletionGracePeriodSeconds ?? specGracePeriod(pod)
    recorder.event(containerReference(pod, name), 'Normal', 'Killing', message)
    const preStop = c?.lifecycle?.preStop ?? preStopOf(status)
    if (preStop && grace > 0 && status.state === 'RUNNING') {
      const began = clock.monotonic()
      const stop = new AbortController()
      const timer = clock.setTimeout(() => stop.abort(new Error('grace period is over')), grace * 1000)
      const over = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve(), { once: true }))
      try {
        const [sandbox] = (await runtime.listContainers({ id: status.id })).map((x) => x.podSandboxId)
        const ip = sandbox ? ((await runtime.podSandboxStatus(sandbox)).ips[0] ?? '') : ''
        await Promise.race([runHook(pod, c ?? { name }, status.id, preStop, { runtime, clock, podIP: ip, signal: stop.signal }), over])
      } catch {
        recorder.event(containerReference(pod, name), 'Warning', 'FailedPreStopHook', 'PreStopHook failed')
      } finally {
        timer.cancel()
      }
      grace -= Math.floor((clock.monotonic() - began) / 1000)
    }
    await runtime.stopContainer(status.id, graceOverride === 0 ? 0 : Math.max(MIN_STOP_SECONDS, grace))
  }

  private async purgeInit(pod: Pod, state: PodState): Promise<void> {
    const names = new Set((pod.spec.initContainers ?? []).map((c: Container) => c.name))
    const seen = new Set<string>()
    for (const s of state.containers) {
      if (!names.has(s.metadata.name)) continue
      // The newest one is kept: it tells the next one's restart count.
      if (!seen.has(s.metadata.name)) {
        seen.add(s.metadata.name)
        continue
      }
      await this.options.runtime.removeContainer(s.id)
    }
  }

  /** Removes dead containers beyond the newest of each name. */
  async collect(state: PodState, keep: number): Promise<void> {
    const counts = new Map<string, number>()
    for (const s of state.containers) {
      if (s.state === 'RUNNING') continue
      const n = counts.get(s.metadata.name) ?? 0
      counts.set(s.metadata.name, n + 1)
      const live = state.containers.some((x) => x.metadata.name === s.metadata.name && x.state === 'RUNNING')
      if (n < (live ? keep : keep + 1)) continue
      await this.removeWithLog(s)
    }
  }

  async removeWithLog(s: ContainerStatus): Promise<void> {
    const owner = this.options.runtime.route?.(s.id) ?? this.options.runtime
    await this.options.runtime.removeContainer(s.id)
    this.applied.delete(s.id)
    if (owner.logs || !s.logPath.startsWith('/')) return
    const dir = dirname(s.logPath)
    const base = basename(s.logPath)
    for (const f of await fs.readdir(dir).catch(() => [] as string[])) if (f === base || f.startsWith(`${base}.`)) await fs.rm(join(dir, f), { force: true })
  }

  /** Removes all sandboxes of a Pod that has ended, with its logs. */
  async removePod(pod: { uid: string; name: string; namespace: string }, state: PodState): Promise<void> {
    for (const s of state.containers) {
      await this.options.runtime.removeContainer(s.id)
      this.applied.delete(s.id)
    }
    for (const s of state.sandboxes) {
      await this.options.runtime.stopPodSandbox(s.id)
      await this.options.runtime.removePodSandbox(s.id)
    }
    await this.options.clock.track(
      fs.rm(join(this.options.logDir, `${pod.namespace}_${pod.name}_${pod.uid}`), { recursive: true, force: true }).catch(() => {}),
    )
  }
}

function preStopOf(status: ContainerStatus) {
  const text = status.annotations[runtimeAnnotations.preStopHandler]
  try {
    return text ? (JSON.parse(text) as NonNullable<Container['lifecycle']>['preStop']) : undefined
  } catch {
    return undefined
  }
}

/** One more than the highest number of a log file in the folder; 0 without any. */
async function nextLogNumber(dir: string): Promise<number> {
  let next = 0
  for (const f of await fs.readdir(dir).catch(() => [] as string[])) {
    const match = /^(\d{1,9})\.log/.exec(f)
    if (match) next = Math.max(next, Number(match[1]) + 1)
  }
  return next
}
