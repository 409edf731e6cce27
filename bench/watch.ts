import { join } from 'node:path'
import { type Bare, bareServer } from './bare.ts'
import { type Connection, remove, type Started, scratch, up } from './cluster.ts'
import type { LatencyResult } from './latency-main.ts'
import { inProcess } from './load.ts'
import { type Bench, median, type Row } from './row.ts'
import { type FanOut, fanOut } from './watchers.ts'

/** Reference figures of a quiet machine: what k8ts should do there, and what the bare server did. */
const SIZES = [
  { watchers: 100, creates: 4000, least: 120_000, bare: 158_000 },
  { watchers: 1000, creates: 800, least: 240_000, bare: 303_000 },
]
const ROUNDS = 3

/** Writes told to many watchers, beside what the bare server makes of the same. */
export const watch: Bench = {
  name: 'watch',
  async run(tell) {
    const dir = scratch()
    try {
      const cluster = await up(join(dir, 'data'))
      const bare = await bareServer()
      try {
        for (const size of SIZES) {
          const ours: FanOut[] = []
          const theirs: FanOut[] = []
          // The first round only warms.
          for (let round = 0; round <= ROUNDS; round++) {
            const prefix = `w${size.watchers}-${round}`
            const a = await fanOut(cluster, size.watchers, size.creates, prefix)
            const b = await fanOut(bare, size.watchers, size.creates, prefix)
            if (round === 0) continue
            ours.push(a)
            theirs.push(b)
          }
          report(size, ours, theirs, tell)
        }
        await latency(cluster, bare, tell)
      } finally {
        cluster.down()
        await bare.stop()
      }
    } finally {
      remove(dir)
    }
  },
}

const PER_SECOND = 50
const WRITES = 600

/** How long after its answer a write is seen, while little is going on. */
async function latency(cluster: Started, bare: Bare, tell: (row: Row) => void): Promise<void> {
  const of = async (connection: Connection) => {
    const result = await inProcess<LatencyResult>('latency-main.ts', { connection, perSecond: PER_SECOND, writes: WRITES })
    if (result.seen < WRITES) throw new Error(`a watch saw ${result.seen} of ${WRITES} writes`)
    return result
  }
  const theirs = await of(bare.connection)
  const { p50, p99 } = await of(cluster.connection)
  const note = `p50 ${p50.toFixed(2)} ms; bare server p50 ${theirs.p50.toFixed(2)}, p99 ${theirs.p99.toFixed(2)} ms`
  tell({ what: `answer of a write to its event, ${PER_SECOND} writes/s, p99`, figure: p99, unit: 'ms', target: { most: 2 }, note })
}

function report(size: (typeof SIZES)[number], ours: FanOut[], theirs: FanOut[], tell: (row: Row) => void): void {
  const of = (runs: FanOut[], field: keyof FanOut) => median(runs.map((r) => r[field]))
  const cpu = (runs: FanOut[]) => `server ${of(runs, 'serverCpuMicros').toFixed(1)} µs CPU an event, watchers ${of(runs, 'watchersCpuMicros').toFixed(1)}`
  const figure = of(ours, 'perSecond')
  tell({ what: `watch events to ${size.watchers} watchers`, figure, unit: '/s', target: { least: size.least }, note: cpu(ours) })
  tell({
    what: `the same, of a bare Node.js server's`,
    figure: figure / of(theirs, 'perSecond'),
    unit: '×',
    target: { least: Math.round((size.least / size.bare) * 100) / 100 },
    note: `bare ${Math.round(of(theirs, 'perSecond')).toLocaleString('en-US')}/s; ${cpu(theirs)}`,
  })
}
