/**
 * Load from a process of its own: reads one job as JSON from its first argument, prints its result as JSON.
 */
import { readFileSync } from 'node:fs'
import type { Connection } from './cluster.ts'
import { HttpClient } from './http-client.ts'
import { quantile } from './row.ts'

export interface LoadJob {
  connection: Connection
  clients: number
  /** Either so long, or so many requests. */
  ms?: number
  count?: number
  kind: 'create' | 'create-pod' | 'get' | 'update' | 'patch' | 'delete'
  /** Objects are `<prefix>-<n>`. */
  prefix: string
  /** How many objects there are for get, update and patch. */
  objects: number
}

export interface LoadResult {
  perSecond: number
  done: number
  p50Ms: number
  p99Ms: number
  /** CPU time of this process per request. */
  ownCpuMs: number
  failures: Record<string, number>
}

const BASE = '/api/v1/namespaces/default/configmaps'
const payload = 'x'.repeat(700)

const object = (name: string, n: number): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels: { group: `g${n % 100}` } }, data: { payload, n: String(n) } })

const PODS = '/api/v1/namespaces/default/pods'
const env = Array.from({ length: 16 }, (_, i) => ({ name: `SETTING_${i}`, value: `value-of-setting-${i}` }))

/** A Pod that takes about 3 KB once stored, and that no scheduler knows. */
const pod = (name: string, n: number): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'web', group: `g${n % 100}` } },
    spec: { schedulerName: 'nobody', containers: [{ name: 'web', image: 'nginx:1.29', env, ports: [{ containerPort: 80 }] }] },
  })

async function main(job: LoadJob): Promise<LoadResult> {
  const clients = await Promise.all(Array.from({ length: job.clients }, () => HttpClient.open(job.connection)))
  const failures: Record<string, number> = {}
  const latencies: number[] = []
  let next = 0
  let done = 0
  const cpu = process.cpuUsage()
  const start = performance.now()
  const end = job.ms === undefined ? Number.POSITIVE_INFINITY : start + job.ms
  const count = job.count ?? Number.POSITIVE_INFINITY
  await Promise.all(
    clients.map(async (client, c) => {
      for (let i = 0; performance.now() < end; i++) {
        const n = next++
        if (n >= count) return
        // Each client has its own objects to change: conflicts would be no work done.
        const own = job.objects === 0 ? n : (c + i * job.clients) % job.objects
        const name = `${job.prefix}-${job.kind === 'get' || job.kind === 'update' || job.kind === 'patch' ? own : n}`
        const at = performance.now()
        const answer = await (() => {
          switch (job.kind) {
            case 'create':
              return client.request('POST', BASE, object(name, n))
            case 'create-pod':
              return client.request('POST', PODS, pod(name, n))
            case 'get':
              return client.request('GET', `${BASE}/${name}`)
            case 'update':
              return client.request('PUT', `${BASE}/${name}`, object(name, n))
            case 'patch':
              return client.request('PATCH', `${BASE}/${name}`, `{"data":{"n":"${n}"}}`, 'application/merge-patch+json')
            case 'delete':
              return client.request('DELETE', `${BASE}/${name}`)
          }
        })()
        latencies.push(performance.now() - at)
        if (answer.status < 300) done++
        else failures[`${answer.status} ${answer.body.toString('utf8', 0, 200)}`] = (failures[answer.status] ?? 0) + 1
      }
    }),
  )
  const seconds = (performance.now() - start) / 1000
  const used = process.cpuUsage(cpu)
  for (const client of clients) client.close()
  return {
    perSecond: done / seconds,
    done,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    ownCpuMs: (used.user + used.system) / 1000 / Math.max(1, latencies.length),
    failures,
  }
}

if (process.argv[2]) console.log(JSON.stringify(await main(JSON.parse(readFileSync(process.argv[2], 'utf8')) as LoadJob)))
