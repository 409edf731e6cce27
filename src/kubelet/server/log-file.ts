import { promises as fs, watch } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock } from '../../base/index.ts'

const BLOCK = 64 * 1024
const POLL_MS = 1000
/** Longer lines are passed on in parts. */
const MAX_LINE = 1 << 20

/** The lines of a log file from where the last `tail` lines begin (undefined: from the start). With `follow` goes on until `ended` says so and all is read. */
export async function* fileLines(
  path: string,
  o: { tail: number | undefined; follow: boolean; signal: AbortSignal; clock: Clock; ended: () => Promise<boolean> },
): AsyncGenerator<string> {
  let file = await fs.open(path, 'r')
  try {
    let at = o.tail === undefined ? 0 : await tailStart(file, o.tail)
    let inode = (await file.stat()).ino
    let rest: Buffer = Buffer.alloc(0)
    let last = false
    for (;;) {
      const block = Buffer.alloc(BLOCK)
      const { bytesRead } = await file.read(block, 0, BLOCK, at)
      if (bytesRead > 0) {
        at += bytesRead
        rest = Buffer.concat([rest, block.subarray(0, bytesRead)])
        let start = 0
        for (let nl = rest.indexOf(10, start); nl >= 0; nl = rest.indexOf(10, start)) {
          yield rest.toString('utf8', start, nl)
          start = nl + 1
        }
        rest = rest.subarray(start)
        if (rest.length > MAX_LINE) {
          yield rest.toString('utf8')
          rest = Buffer.alloc(0)
        }
        if (o.signal.aborted) return
        continue
      }
      if (!o.follow || o.signal.aborted || last) break
      // A rotated log goes on in a new file of the same name.
      const now = await fs.stat(path).catch(() => undefined)
      if (now && now.ino !== inode) {
        await file.close()
        file = await fs.open(path, 'r')
        inode = now.ino
        at = 0
        continue
      }
      if (await o.ended()) {
        last = true
        continue
      }
      await change(path, o.clock, o.signal)
    }
    if (rest.length > 0) yield rest.toString('utf8')
  } finally {
    await file.close()
  }
}

async function tailStart(file: fs.FileHandle, lines: number): Promise<number> {
  const { size } = await file.stat()
  if (lines <= 0) return size
  let end = size
  let found = 0
  const block = Buffer.alloc(BLOCK)
  while (end > 0) {
    const start = Math.max(0, end - BLOCK)
    const { bytesRead } = await file.read(block, 0, end - start, start)
    for (let i = bytesRead - 1; i >= 0; i--) {
      // The newline that ends the last line does not begin one.
      if (block[i] !== 10 || start + i === size - 1) continue
      if (++found === lines) return start + i + 1
    }
    end = start
  }
  return 0
}

function change(path: string, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      timer.cancel()
      watcher?.close()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.setTimeout(done, POLL_MS)
    signal.addEventListener('abort', done, { once: true })
    let watcher: ReturnType<typeof watch> | undefined
    try {
      watcher = watch(dirname(path), done)
      watcher.on('error', () => {})
    } catch {
      // Polling is enough.
    }
  })
}
