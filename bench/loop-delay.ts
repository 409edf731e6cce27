import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pause, remove, type Started, scratch, up } from './cluster.ts'

/** Measures on a cluster of its own whose event-loop delay can be asked for: `loopDelay(cluster.pid, delays)`. */
export async function withWatchedLoop(measure: (cluster: Started, delays: string) => Promise<void>): Promise<void> {
  const dir = scratch()
  const delays = join(dir, 'loop-delay.json')
  const env = { ...process.env, BENCH_LOOP_DELAY: delays, NODE_OPTIONS: `--require ${join(import.meta.dirname, 'loop-delay.cjs')}` }
  try {
    const cluster = await up(join(dir, 'data'), { env })
    try {
      await measure(cluster, delays)
    } finally {
      cluster.down()
    }
  } finally {
    remove(dir)
  }
}

/** Event-loop delay of a process started with loop-delay.cjs since the last time this was asked. */
export async function loopDelay(pid: number, file: string): Promise<{ p50: number; p99: number; max: number } | undefined> {
  rmSync(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  for (let i = 0; i < 100; i++) {
    await pause(20)
    if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
  }
  return undefined
}
