import { promises as fs } from 'node:fs'
import { join } from 'node:path'
import type { Pod, Volume } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import type { Clock, Random } from '../../base/index.ts'
import type { Client } from '../../client/client.ts'
import type { EventRecorder } from '../../client/record/event-recorder.ts'
import { wholeValue } from '../../component-helpers/amounts.ts'
import { amountValue, podLimits } from '../../component-helpers/pod-requests.ts'
import type { FieldSources } from '../env/field-path.ts'
import { allContainers, namespaceOf, podReference, uidOf } from '../pods/pod.ts'
import { type Payload, writeAtomically } from './atomic-writer.ts'
import { prepareHostPath } from './host-path.ts'
import type { Mounter } from './mounter.ts'
import type { ObjectCache } from './object-cache.ts'
import { configMapPayload, downwardPayload, type ProjectionSources, projectedPayload, secretPayload } from './projection.ts'
import type { TokenCache } from './token-cache.ts'

export interface VolumeManagerOptions {
  client: Client
  clock: Clock
  random: Random
  recorder: EventRecorder
  /** `<root>/pods` holds a folder for each Pod. */
  rootDir: string
  objects: ObjectCache
  tokens: TokenCache
  mounter: Mounter | undefined
  fieldsOf(pod: Pod): FieldSources
  /** Pods without files: sources are looked up, nothing is written. */
  isPretend(pod: Pod): boolean
}

const WAIT_MS = 123_000
const RETRY_MS = 500
const RETRY_MAX_MS = 122_000

interface Mounted {
  paths: Map<string, string>
  done: Set<string>
}

/** Makes the volumes of Pods, keeps their contents current, and takes them away again. */
export class VolumeManager {
  private readonly pods = new Map<string, Mounted>()
  private readonly options: VolumeManagerOptions

  constructor(options: VolumeManagerOptions) {
    this.options = options
  }

  podDir(uid: string): string {
    return join(this.options.rootDir, 'pods', uid)
  }

  /**
   * Resolves when every volume a container uses is there and current; failures are told in events and tried again until the time is up.
   * Later calls only refresh contents.
   */
  async mount(pod: Pod, signal: AbortSignal): Promise<void> {
    const { clock } = this.options
    const state = this.stateOf(uidOf(pod))
    const end = clock.monotonic() + WAIT_MS
    let delay = RETRY_MS
    for (;;) {
      const failed = await this.tryMount(pod, state)
      if (failed.length === 0) return
      if (clock.monotonic() + delay >= end)
        throw new Error(`unmounted volumes=[${failed.join(' ')}], unattached volumes=[], failed to process volumes=[]: timed out waiting for the condition`)
      await clock.sleep(delay, signal)
      delay = Math.min(delay * 2, RETRY_MAX_MS)
    }
  }

  /** The host path of a volume of the Pod; undefined when it is not mounted. */
  path(podUid: string, volume: string): string | undefined {
    return this.pods.get(podUid)?.paths.get(volume)
  }

  /** Removes everything the Pod has on disk. Its containers must be gone. */
  async unmount(podUid: string): Promise<void> {
    if (this.options.mounter) {
      for (const at of await this.options.mounter.mountsBelow(this.podDir(podUid))) await this.options.mounter.unmount(at)
    }
    await fs.rm(this.podDir(podUid), { recursive: true, force: true })
    this.pods.delete(podUid)
    this.options.tokens.forget(podUid)
  }

  /** Uids that have a folder on disk. */
  async onDisk(): Promise<string[]> {
    return fs.readdir(join(this.options.rootDir, 'pods')).catch(() => [])
  }

  private stateOf(uid: string): Mounted {
    let state = this.pods.get(uid)
    if (!state) {
      state = { paths: new Map(), done: new Set() }
      this.pods.set(uid, state)
    }
    return state
  }

  private async tryMount(pod: Pod, state: Mounted): Promise<string[]> {
    const used = new Set(allContainers(pod).flatMap((c) => [...(c.volumeMounts ?? []), ...(c.volumeDevices ?? [])].map((m) => m.name)))
    const failed: string[] = []
    for (const volume of pod.spec.volumes ?? []) {
      if (!used.has(volume.name)) continue
      const first = !state.done.has(volume.name)
      try {
        const path = await this.setUp(pod, volume, first)
        if (path !== undefined) state.paths.set(volume.name, path)
        state.done.add(volume.name)
      } catch (error) {
        // A volume that is there stays usable when its refresh fails.
        if (first) failed.push(volume.name)
        this.options.recorder.event(
          podReference(pod),
          'Warning',
          'FailedMount',
          `MountVolume.SetUp failed for volume ${JSON.stringify(volume.name)} : ${(error as Error).message}`,
        )
      }
    }
    return failed
  }

  private async setUp(pod: Pod, v: Volume, first: boolean): Promise<string | undefined> {
    const pretend = this.options.isPretend(pod)
    const dir = (plugin: string) => join(this.podDir(uidOf(pod)), 'volumes', plugin, v.name)
    const sources: ProjectionSources = {
      configMap: (ns, name) => this.options.objects.configMap(ns, name),
      secret: (ns, name) => this.options.objects.secret(ns, name),
      token: (p, audience, seconds) => (pretend ? Promise.resolve(undefined) : this.options.tokens.get(p, audience, seconds)),
      fields: this.options.fieldsOf(pod),
    }
    if (v.configMap) return this.project(pod, dir('kubernetes.io~configmap'), await configMapPayload(pod, v.configMap, sources), pretend, false)
    if (v.secret) {
      const { secretName, ...rest } = v.secret
      return this.project(pod, dir('kubernetes.io~secret'), await secretPayload(pod, { ...rest, name: secretName ?? '' }, sources), pretend, true)
    }
    if (v.downwardAPI) {
      return this.project(
        pod,
        dir('kubernetes.io~downward-api'),
        downwardPayload(pod, v.downwardAPI.items, v.downwardAPI.defaultMode, sources.fields),
        pretend,
        true,
      )
    }
    if (v.projected) return this.project(pod, dir('kubernetes.io~projected'), await projectedPayload(pod, v.projected, sources), pretend, true)
    if (!first) return undefined
    if (v.hostPath) {
      if (!pretend) await prepareHostPath(v.hostPath)
      return v.hostPath.path
    }
    if (v.emptyDir) return this.emptyDir(pod, dir('kubernetes.io~empty-dir'), v.emptyDir, pretend)
    if (v.persistentVolumeClaim) return this.claim(pod, v.persistentVolumeClaim.claimName, pretend)
    if (v.ephemeral) return this.claim(pod, `${pod.metadata.name}-${v.name}`, pretend)
    if (v.image) return ''
    if (pretend) return dir('kubernetes.io~none')
    const kind = Object.keys(v).find((k) => k !== 'name') ?? 'none'
    throw new Error(`no volume plugin matched: ${kind}`)
  }

  private async project(pod: Pod, folder: string, payload: Payload, pretend: boolean, memory: boolean): Promise<string> {
    if (pretend) return folder
    const group = pod.spec.securityContext?.fsGroup
    await this.folder(folder, 0o777, memory ? undefined : null)
    if (group !== undefined) for (const [path, f] of payload) payload.set(path, { ...f, mode: f.mode | 0o440 })
    const isRoot = process.getuid?.() === 0
    if (!isRoot) for (const [path, { data, mode }] of payload) payload.set(path, { data, mode })
    const { clock, random } = this.options
    await clock.track(writeAtomically(folder, payload, { clock, random, ...(group !== undefined && isRoot ? { gid: group } : {}) }))
    return folder
  }

  private async emptyDir(pod: Pod, folder: string, source: NonNullable<Volume['emptyDir']>, pretend: boolean): Promise<string> {
    if (pretend) return folder
    const inMemory = source.medium === 'Memory'
    const sizes = [source.sizeLimit ? wholeValue(source.sizeLimit) : 0, amountValue(podLimits(pod), 'memory')].filter((n) => n > 0)
    await this.folder(folder, 0o777, inMemory ? (sizes.length ? Math.min(...sizes) : undefined) : null)
    const group = pod.spec.securityContext?.fsGroup
    if (group !== undefined && process.getuid?.() === 0) {
      await fs.chown(folder, 0, group)
      await fs.chmod(folder, 0o2777)
    }
    return folder
  }

  /** @param memory null: a plain folder; else a tmpfs of that size (undefined: the default) where mounting is possible */
  private async folder(path: string, mode: number, memory: number | undefined | null): Promise<void> {
    await fs.mkdir(path, { recursive: true, mode: 0o750 })
    const { mounter } = this.options
    if (memory !== null && mounter && !(await mounter.mountsBelow(path)).includes(path)) await mounter.tmpfs(path, memory)
    await fs.chmod(path, mode)
  }

  /** Claims bound to volumes of this machine: `hostPath` and `local`. */
  private async claim(pod: Pod, name: string, pretend: boolean): Promise<string> {
    const { client } = this.options
    const claim = await client.resource(resources.corev1.persistentvolumeclaims).namespace(namespaceOf(pod)).get(name)
    if (claim.status.phase !== 'Bound' || !claim.spec.volumeName)
      throw new Error(
        `PVC ${namespaceOf(pod)}/${name} has non-bound phase (${JSON.stringify(claim.status.phase ?? '')}) or empty pvc.Spec.VolumeName (${JSON.stringify(claim.spec.volumeName ?? '')})`,
      )
    const volume = await client.resource(resources.corev1.persistentvolumes).get(claim.spec.volumeName)
    const { hostPath, local } = volume.spec
    if (hostPath) {
      if (!pretend) await prepareHostPath(hostPath)
      return hostPath.path
    }
    if (local) {
      if (!pretend && !(await fs.stat(local.path).catch(() => undefined))) throw new Error(`path ${JSON.stringify(local.path)} does not exist`)
      return local.path
    }
    if (pretend) return join(this.podDir(uidOf(pod)), 'volumes', 'kubernetes.io~csi', claim.spec.volumeName)
    throw new Error(`no volume plugin matched for volume ${JSON.stringify(claim.spec.volumeName)}`)
  }
}
