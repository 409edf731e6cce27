import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Connection, cpuMs, remove, scratch } from './cluster.ts'
import { load } from './load.ts'
import type { WatchResult } from './watch-main.ts'

export interface FanOut {
  perSecond: number
  /** Of the server, the watching process and the writing one, for each event delivered. */
  serverCpuMicros: number
  watchersCpuMicros: number
  seconds: number
}

/** So many creates by 32 clients, told to so many watchers. @throws Error when a watch lost events */
export async function fanOut(server: { pid: number; connection: Connection }, watchers: number, creates: number, prefix: string): Promise<FanOut> {
  const dir = scratch()
  try {
    const file = join(dir, 'job.json')
    writeFileSync(file, JSON.stringify({ connection: server.connection, watchers }), { mode: 0o600 })
    const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'watch-main.ts'), file], { stdio: ['pipe', 'pipe', 'inherit'] })
    let out = ''
    let opened: (() => void) | undefined
    const open = new Promise<void>((resolve) => {
      opened = resolve
    })
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
      if (out.includes('open\n')) opened?.()
    })
    const ended = new Promise((resolve) => child.once('close', resolve))
    await Promise.race([open, ended])
    const before = cpuMs(server.pid)
    await load({ connection: server.connection, clients: 32, kind: 'create', prefix, objects: 0, count: creates })
    child.stdin.end()
    await ended
    const cpu = cpuMs(server.pid) - before
    const result = JSON.parse(out.slice(out.indexOf('\n') + 1)) as WatchResult
    const delivered = watchers * creates
    if (result.events !== creates) throw new Error(`a watch saw ${result.events} of ${creates} events`)
    // Framing differs, content does not.
    if (result.least < result.most * 0.98) throw new Error(`watches got between ${result.least} and ${result.most} bytes`)
    return {
      perSecond: delivered / result.seconds,
      serverCpuMicros: (cpu / delivered) * 1000,
      watchersCpuMicros: (result.cpuMs / delivered) * 1000,
      seconds: result.seconds,
    }
  } finally {
    remove(dir)
  }
}
