import type { KubeObject } from '../../apimachinery/object.ts'
import type { Clock } from '../../base/clock.ts'
import type { ResourceClient, Watch } from '../../client/client.ts'

const RETRY_MS = 20

/** Resolves when an object is there and as it should be, as soon as a watch tells; rejects with the signal's reason. */
export async function waitForObject<T extends KubeObject>(
  resource: ResourceClient<T>,
  name: string,
  asWanted: (object: T) => boolean,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    let watch: Watch<T> | undefined
    try {
      watch = await resource.watch({ fieldSelector: `metadata.name=${name}`, signal })
      for await (const { type, object } of watch) if ((type === 'ADDED' || type === 'MODIFIED') && asWanted(object)) return
    } catch {
      // The server is not there, or went: another watch will tell.
    } finally {
      watch?.stop()
    }
    await clock.sleep(RETRY_MS, signal)
  }
}
