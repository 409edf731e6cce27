import { type FSWatcher, promises as fs, watch } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Pod } from '../../api/core/v1/types.generated.ts'
import type { Clock, Timer } from '../../base/index.ts'
import type { Logger } from '../../component-base/component.ts'
import { fullName, uidOf } from '../pods/pod.ts'
import type { PodSink, PodSource } from '../pods/pod-source.ts'
import { rfc3339Nano } from '../time.ts'
import { MAX_MANIFEST_BYTES, podFromManifest } from './manifest.ts'

export interface FileSourceOptions {
  /** A folder of manifests, or one manifest. */
  path: string
  nodeName: string
  clock: Clock
  log: Logger
  applyDefaults?: (pod: Pod) => void
  validate?: (pod: Pod) => string[]
  /** How often everything is read again whatever the file system tells. @default 20 s */
  pollMs?: number
  onDuplicate?: (pod: Pod) => void
  /** A manifest that makes no Pod; told once for each text of the file. */
  onInvalid?: (file: string, message: string) => void
}

const SETTLE_MS = 20
const MAX_FILES = 1000

/** Static Pods: every manifest of a folder is a Pod; changes are seen at once where the system tells of them, else by reading again. */
export class FileSource implements PodSource {
  private readonly options: FileSourceOptions
  private readonly known = new Map<string, { text: string; pod: Pod | undefined }>()
  private current = new Map<string, Pod>()

  constructor(options: FileSourceOptions) {
    this.options = options
  }

  async run(sink: PodSink, signal: AbortSignal): Promise<void> {
    const { clock, pollMs = 20_000 } = this.options
    let again: (() => void) | undefined
    let dirty = false
    let settle: Timer | undefined
    const poke = () => {
      dirty = true
      settle ??= clock.setTimeout(() => {
        settle = undefined
        again?.()
      }, SETTLE_MS)
    }
    let watcher: FSWatcher | undefined
    const arm = () => {
      if (watcher) return
      try {
        watcher = watch(this.options.path, (_type, name) => {
          if (!name?.startsWith('.')) poke()
        })
        watcher.on('error', () => {
          watcher?.close()
          watcher = undefined
        })
        watcher.unref()
      } catch {
        watcher = undefined
      }
    }
    try {
      while (!signal.aborted) {
        arm()
        dirty = false
        await clock.track(this.read(sink))
        sink.synced()
        if (dirty) continue
        await new Promise<void>((go) => {
          const done = () => {
            timer.cancel()
            signal.removeEventListener('abort', done)
            again = undefined
            go()
          }
          const timer = clock.setTimeout(done, pollMs)
          again = done
          signal.addEventListener('abort', done, { once: true })
          if (signal.aborted) done()
        })
      }
    } finally {
      watcher?.close()
      settle?.cancel()
    }
  }

  private async read(sink: PodSink): Promise<void> {
    const files = await this.files()
    const next = new Map<string, Pod>()
    const names = new Set<string>()
    for (const file of files) {
      const pod = await this.load(file)
      if (!pod) continue
      if (names.has(fullName(pod))) {
        this.options.onDuplicate?.(pod)
        continue
      }
      names.add(fullName(pod))
      next.set(uidOf(pod), pod)
    }
    for (const file of this.known.keys()) if (!files.includes(file)) this.known.delete(file)
    // What went first: a Pod that replaces one of its name waits for it anyway.
    for (const [uid, pod] of this.current) if (!next.has(uid)) sink.remove(pod)
    for (const [uid, pod] of next) if (!this.current.has(uid)) sink.put(pod)
    this.current = next
  }

  private async files(): Promise<string[]> {
    const path = resolve(this.options.path)
    const stat = await fs.stat(path).catch(() => undefined)
    if (!stat) return []
    if (stat.isFile()) return [path]
    if (!stat.isDirectory()) return []
    const out: string[] = []
    for (const name of (await fs.readdir(path)).sort()) {
      if (name.startsWith('.') || out.length >= MAX_FILES) continue
      const file = join(path, name)
      if ((await fs.stat(file).catch(() => undefined))?.isFile()) out.push(file)
    }
    return out
  }

  private async load(file: string): Promise<Pod | undefined> {
    const { clock, log, nodeName, applyDefaults, validate } = this.options
    try {
      const stat = await fs.stat(file)
      if (stat.size > MAX_MANIFEST_BYTES) throw new Error(`${file}: manifest is larger than ${MAX_MANIFEST_BYTES} bytes`)
      const text = await fs.readFile(file, 'utf8')
      const known = this.known.get(file)
      if (known?.text === text) return known.pod
      const entry: { text: string; pod: Pod | undefined } = { text, pod: undefined }
      this.known.set(file, entry)
      entry.pod = podFromManifest(text, {
        nodeName,
        file,
        seen: rfc3339Nano(clock.now()),
        ...(applyDefaults ? { applyDefaults } : {}),
        ...(validate ? { validate } : {}),
      })
      return entry.pod
    } catch (error) {
      const { message } = error as Error
      log.error('static pod manifest is not used', { file, err: message })
      this.options.onInvalid?.(file, message)
      return undefined
    }
  }
}
