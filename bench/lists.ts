import { bareServer } from './bare.ts'
import { cpuMs, ownKb, pause, type Started } from './cluster.ts'
import { HttpClient } from './http-client.ts'
import { load } from './load.ts'
import { loopDelay, withWatchedLoop } from './loop-delay.ts'
import { type Bench, median, type Row } from './row.ts'

const OBJECTS = 10_000
const ROUNDS = 9
const SETTLED_MS = 15_000
const CONFIGMAPS = '/api/v1/namespaces/default/configmaps'
const PODS = '/api/v1/namespaces/default/pods'
const JSON_FORM = 'application/json'
const TABLE_FORM = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
/** How fast the bare server sends a list on a quiet machine. */
const BARE_BYTES_PER_MS = 20_000_000 / 38

/** Lists of many objects, beside what the bare server needs for as many bytes, and the memory the objects take. */
export const lists: Bench = {
  name: 'list',
  run: (tell) => withWatchedLoop((cluster, delays) => measure(cluster, delays, tell)),
}

interface Listed {
  ms: number
  bytes: number
  serverCpuMs: number
}

async function measure(cluster: Started, delays: string, tell: (row: Row) => void): Promise<void> {
  const { connection, pid } = cluster
  const client = await HttpClient.open(connection)
  const times = async (path: string, accept = JSON_FORM, mark = '"uid":', expected = OBJECTS): Promise<Listed> => {
    const ms: number[] = []
    let bytes = 0
    let before = cpuMs(pid)
    for (let i = 0; i < ROUNDS; i++) {
      const start = performance.now()
      const { status, body } = await client.request('GET', path, undefined, undefined, accept)
      ms.push(performance.now() - start)
      if (i > 0) continue
      bytes = body.length
      const found = body.toString('latin1').split(mark).length - 1
      if (status !== 200 || found < expected) throw new Error(`${path} answered ${status} with ${found} objects`)
      before = cpuMs(pid)
    }
    return { ms: median(ms.slice(1)), bytes, serverCpuMs: (cpuMs(pid) - before) / (ROUNDS - 1) }
  }
  const row = (what: string, most: number, listed: Listed) =>
    tell({
      what,
      figure: listed.ms,
      unit: 'ms',
      target: { most },
      note: `${(listed.bytes / 1e6).toFixed(1)} MB, server ${listed.serverCpuMs.toFixed(0)} ms CPU`,
    })
  const ofBare = async (most: number, listed: Listed) => {
    const bare = await bareServer(listed.bytes)
    const other = await HttpClient.open(bare.connection)
    const ms: number[] = []
    for (let i = 0; i < ROUNDS; i++) {
      const start = performance.now()
      await other.request('GET', CONFIGMAPS)
      ms.push(performance.now() - start)
    }
    other.close()
    await bare.stop()
    const target = { most: Math.round((most / (listed.bytes / BARE_BYTES_PER_MS)) * 10) / 10 }
    tell({ what: '  of a bare Node.js server', figure: listed.ms / median(ms), unit: '×', target, note: `that one ${median(ms).toFixed(0)} ms` })
  }

  // What the compiler and the first list leave in memory is no part of the figures.
  await load({ connection, clients: 32, kind: 'create', prefix: 'warm', objects: 0, count: 3000 })
  for (let i = 0; i < 5; i++) await client.request('GET', CONFIGMAPS)
  await client.request('DELETE', CONFIGMAPS)
  await pause(SETTLED_MS)
  const base = ownKb(pid)
  await load({ connection, clients: 32, kind: 'create', prefix: 'list', objects: 0, count: OBJECTS })
  const pods = (await load({ connection, clients: 32, kind: 'create-pod', prefix: 'pod', objects: 0, count: OBJECTS })).done
  await pause(SETTLED_MS)
  const perObject = (ownKb(pid) - base) / (OBJECTS + pods)
  await loopDelay(pid, delays)
  const all = await times(CONFIGMAPS)
  row('list of 10,000', 120, all)
  await ofBare(120, all)
  row('label selector, 100 of 10,000', 5, await times(`${CONFIGMAPS}?labelSelector=group%3Dg7`, JSON_FORM, '"uid":', OBJECTS / 100))
  const json = await times(PODS)
  row('list of 10,000 Pods', 250, json)
  await ofBare(250, json)
  row('list of 10,000 Pods as a table', 400, await times(PODS, TABLE_FORM, '"cells":'))
  const delay = await loopDelay(pid, delays)
  tell({
    what: 'event-loop delay under these lists, p99',
    figure: delay?.p99 ?? Number.NaN,
    unit: 'ms',
    target: { most: 20 },
    note: `longest ${delay?.max.toFixed(0)} ms`,
  })
  tell({
    what: 'memory per stored object',
    figure: perObject,
    unit: 'KB',
    target: { most: 6 },
    note: `without mapped files, ${SETTLED_MS / 1000} s after creates; before the lists`,
  })
  await pause(SETTLED_MS)
  tell({ what: 'the same after lists', figure: (ownKb(pid) - base) / (OBJECTS + pods), unit: 'KB', note: '' })
  client.close()
}
