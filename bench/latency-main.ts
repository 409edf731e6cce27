/** Writes at a steady rate in a process of its own, one of many watches read event by event: prints a `LatencyResult` as JSON. */
import { readFileSync } from 'node:fs'
import type { Connection } from './cluster.ts'
import { HttpClient } from './http-client.ts'
import { quantile } from './row.ts'

export interface LatencyResult {
  /** From the answer of a write to its event at the watch, ms; 0 when the event came first. */
  p50: number
  p99: number
  seen: number
}

const job = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as { connection: Connection; perSecond: number; writes: number }
const PATH = '/api/v1/namespaces/default/configmaps'
const NAME = /"name":"l-(\d+)"/g

const reader = await HttpClient.open(job.connection)
const writer = await HttpClient.open(job.connection)
const list = await writer.request('GET', `${PATH}?limit=1`)
const seen = new Map<number, number>()
let tail = ''
reader.stream(`${PATH}?watch=1&resourceVersion=${/"resourceVersion":"(\d+)"/.exec(list.body.toString())?.[1]}`, (chunk) => {
  const now = performance.now()
  const text = tail + chunk.toString('latin1')
  for (const [, n] of text.matchAll(NAME)) if (!seen.has(Number(n))) seen.set(Number(n), now)
  tail = text.slice(-40)
})
await new Promise((resolve) => setTimeout(resolve, 500))
const answered: number[] = []
const start = performance.now()
for (let i = 0; i < job.writes; i++) {
  const wait = start + (i * 1000) / job.perSecond - performance.now()
  if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `l-${i}` }, data: { payload: 'x'.repeat(700) } }
  const { status } = await writer.request('POST', PATH, JSON.stringify(object))
  if (status !== 201) throw new Error(`create answered ${status}`)
  answered[i] = performance.now()
}
await new Promise((resolve) => setTimeout(resolve, 500))
// What comes before the compiler is warm is left out.
const late = answered.flatMap((at, i) => (i < job.writes / 4 || !seen.has(i) ? [] : [Math.max(0, (seen.get(i) as number) - at)]))
const result: LatencyResult = { p50: quantile(late, 0.5), p99: quantile(late, 0.99), seen: seen.size }
console.log(JSON.stringify(result))
process.exit(0)
