import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cpuMs, remove, scratch, up } from './cluster.ts'
import { load } from './load.ts'
import type { Bench } from './row.ts'

const WATCHERS = 100
const EVENTS = 6000

/** One write told to a hundred watchers. */
export const watch: Bench = {
  name: 'watch',
  async run(tell) {
    const dir = scratch()
    try {
      const cluster = await up(join(dir, 'data'))
      try {
        const file = join(dir, 'job.json')
        writeFileSync(file, JSON.stringify({ connection: cluster.connection, watchers: WATCHERS, events: EVENTS }), { mode: 0o600 })
        const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'watch-main.ts'), file], { stdio: ['ignore', 'pipe', 'inherit'] })
        let out = ''
        let ready: (() => void) | undefined
        const open = new Promise<void>((resolve) => {
          ready = resolve
        })
        child.stdout.setEncoding('utf8').on('data', (text: string) => {
          out += text
          if (out.includes('open\n')) ready?.()
        })
        const ended = new Promise((resolve) => child.once('close', resolve))
        await Promise.race([open, ended])
        const before = cpuMs(cluster.pid)
        await load({ connection: cluster.connection, clients: 32, kind: 'create', prefix: 'w', objects: 0, count: EVENTS })
        await ended
        const { seen, seconds } = JSON.parse(out.slice(out.indexOf('\n') + 1)) as { seen: number; seconds: number }
        const cpu = ((cpuMs(cluster.pid) - before) / seen) * 1000
        const note = `${EVENTS} creates in ${seconds.toFixed(1)} s, server ${cpu.toFixed(1)} µs CPU an event`
        tell({ what: 'watch events to 100 watchers', figure: seen / seconds, unit: '/s', target: { least: 120_000 }, note })
      } finally {
        cluster.down()
      }
    } finally {
      remove(dir)
    }
  },
}
