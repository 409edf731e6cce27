import type { Clock } from '../../base/index.ts'
import { type ContainerRuntime, runtimeLabels } from './runtime.ts'

/** Compares the runtime's lists from time to time and tells of Pods for which they changed: what events may have missed. */
export async function relist(
  o: { runtime: ContainerRuntime; clock: Clock; everyMs: number; onChange: (podUid: string) => void },
  signal: AbortSignal,
): Promise<void> {
  let known: Map<string, string> | undefined
  while (!signal.aborted) {
    try {
      const [sandboxes, containers] = await Promise.all([o.runtime.listPodSandboxes(), o.runtime.listContainers()])
      const now = new Map<string, string>()
      const add = (uid: string | undefined, part: string) => {
        if (uid !== undefined) now.set(uid, `${now.get(uid) ?? ''}${part};`)
      }
      for (const s of [...sandboxes].sort((a, b) => (a.id < b.id ? -1 : 1))) add(s.labels[runtimeLabels.podUid], `${s.id} ${s.state}`)
      for (const c of [...containers].sort((a, b) => (a.id < b.id ? -1 : 1))) add(c.labels[runtimeLabels.podUid], `${c.id} ${c.state}`)
      if (known) {
        for (const [uid, text] of now) if (known.get(uid) !== text) o.onChange(uid)
        for (const uid of known.keys()) if (!now.has(uid)) o.onChange(uid)
      }
      known = now
    } catch {
      // The runtime check tells when it is down.
    }
    await o.clock.sleep(o.everyMs, signal).catch(() => {})
  }
}
