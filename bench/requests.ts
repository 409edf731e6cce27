import { type Bare, bareServer } from './bare.ts'
import { cpuMs, type Started } from './cluster.ts'
import { load } from './load.ts'
import type { LoadJob } from './load-main.ts'
import { loopDelay, withWatchedLoop } from './loop-delay.ts'
import type { Bench, Row } from './row.ts'

const CLIENTS = 32
const MS = Number(process.env.BENCH_MS ?? 3000)
const WARM_MS = Math.min(2000, MS)

/** Requests of 1 KB objects over HTTPS to a cluster with its durable store. */
export const api: Bench = {
  name: 'api',
  run: (tell) =>
    withWatchedLoop(async (cluster, delays) => {
      const bare = await bareServer()
      try {
        await measure(cluster, bare, delays, tell)
      } finally {
        await bare.stop()
      }
    }),
}

/**
 * What the targets are of a server with nothing behind it, on the machine they were set on: 7,700 writes and 27,300 reads a second with
 * 32 clients, 0.81 and 0.17 ms with one.
 */
const OF_BARE = { create: 0.52, get: 0.44, update: 0.43, patch: 0.39, delete: 0.45, createOne: 1.36, getOne: 2.06 }

async function measure(cluster: Started, bare: Bare, delays: string, tell: (row: Row) => void): Promise<void> {
  const { connection, pid } = cluster
  /** The same moment's rate of the bare server: reads, or writes. */
  const ofBare = (kind: 'create' | 'get', clients: number, ms: number) =>
    load({ connection: bare.connection, clients, kind, prefix: 'bare', objects: kind === 'get' ? 1000 : 0, ms })
  const run = async (what: string, least: number, job: Omit<LoadJob, 'connection' | 'clients'> & { kind: Exclude<LoadJob['kind'], 'create-pod'> }) => {
    // What the compiler learns in the first seconds is no part of the figures.
    if (job.ms !== undefined) await load({ connection, clients: CLIENTS, ...job, prefix: job.kind === 'create' ? `warm-${job.kind}` : job.prefix, ms: WARM_MS })
    const ceiling = await ofBare(job.kind === 'get' ? 'get' : 'create', CLIENTS, MS / 2)
    const before = cpuMs(pid)
    try {
      const result = await load({ connection, clients: CLIENTS, ...job })
      const own = ((cpuMs(pid) - before) / result.done) * 1000
      const bad = Object.keys(result.failures)[0]
      const note = `server ${Math.round(own)} µs CPU each, p99 ${result.p99Ms.toFixed(1)} ms${bad ? `; FAILED: ${bad}` : ''}`
      tell({ what, figure: result.perSecond, unit: '/s', target: { least }, note })
      tell({
        what: '  of a bare Node.js server',
        figure: result.perSecond / ceiling.perSecond,
        unit: '×',
        target: { least: OF_BARE[job.kind] },
        note: `that one ${Math.round(ceiling.perSecond).toLocaleString('en-US')}/s`,
      })
      return result
    } catch (e) {
      tell({ what, figure: Number.NaN, unit: '/s', target: { least }, note: (e as Error).message })
      return undefined
    }
  }
  await ofBare('create', CLIENTS, 500)
  await ofBare('get', CLIENTS, 500)
  await loopDelay(pid, delays)
  const created = await run('create, 32 clients', 4000, { kind: 'create', prefix: 'c', objects: 0, ms: MS })
  const objects = Math.min(1024, Math.floor((created?.done ?? 0) / CLIENTS) * CLIENTS)
  await run('get, 32 clients', 12_000, { kind: 'get', prefix: 'c', objects, ms: MS })
  await run('update, 32 clients', 3300, { kind: 'update', prefix: 'c', objects, ms: MS })
  await run('merge patch, 32 clients', 3000, { kind: 'patch', prefix: 'c', objects, ms: MS })
  await run('delete, 32 clients', 3500, { kind: 'delete', prefix: 'c', objects: 0, count: created?.done ?? 0 })
  const delay = await loopDelay(pid, delays)
  tell({
    what: 'event-loop delay under that load, p99',
    figure: delay?.p99 ?? Number.NaN,
    unit: 'ms',
    target: { most: 20 },
    note: `longest ${delay?.max.toFixed(0)} ms`,
  })
  const one = { connection, clients: 1, objects: 0, ms: 1500 }
  await load({ ...one, kind: 'create', prefix: 'first', ms: 300 })
  const bareCreate = await ofBare('create', 1, 1500)
  const create = await load({ ...one, kind: 'create', prefix: 'one' })
  tell({ what: 'create, one client, p50', figure: create.p50Ms, unit: 'ms', target: { most: 1.1 } })
  const ofOne = (ours: number, theirs: number, most: number) =>
    tell({ what: '  of a bare Node.js server', figure: ours / theirs, unit: '×', target: { most }, note: `that one ${theirs.toFixed(2)} ms` })
  ofOne(create.p50Ms, bareCreate.p50Ms, OF_BARE.createOne)
  const bareGet = await ofBare('get', 1, 1000)
  const get = await load({ ...one, kind: 'get', prefix: 'one', objects: Math.min(500, create.done) })
  tell({ what: 'get, one client, p50', figure: get.p50Ms, unit: 'ms', target: { most: 0.35 } })
  ofOne(get.p50Ms, bareGet.p50Ms, OF_BARE.getOne)
}
