/**
 * The API server's figures over HTTPS with kept-alive connections of one user with a client certificate:
 * `node --import tsx bench/api.ts [--only create,get] [--requests 4000]`. Prints a table; `--json` one JSON object.
 */
import { spawn } from 'node:child_process'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Outcome, Task } from './api-clients.ts'
import { BENCH_USER, configMap, startBenchServer } from './api-server.ts'

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    requests: { type: 'string', default: '4000' },
    engine: { type: 'string', default: 'embedded' },
    json: { type: 'boolean', default: false },
  },
})
const only = flags.only?.split(',')
const total = Number(flags.requests)
const bench = await startBenchServer(flags.engine as 'embedded' | 'memory')
const { server, pki } = bench
const listener = await server.listen({ port: 0, cert: pki.apiserver.certificate, key: pki.apiserver.key, clientCA: pki.ca.certificate })
const identity = pki.client({ commonName: BENCH_USER.name, organizations: [...BENCH_USER.groups] })
const base = '/api/v1/namespaces/bench/configmaps'
const results: Record<string, Record<string, number>> = {}

interface Row {
  readonly name: string
  readonly target: string
  readonly task: Pick<Task, 'method' | 'path'> & Partial<Task>
  /** Requests that come before, so that the code is warm and the objects are there. */
  readonly before?: Pick<Task, 'method' | 'path'> & Partial<Task>
}

function runClients(task: Task): Promise<Outcome> {
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(new URL('./api-clients.ts', import.meta.url)), '--task'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(task))
  let out = ''
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => (code === 0 ? resolve(JSON.parse(out) as Outcome) : reject(new Error(`clients ended with ${code}`))))
  })
}

const full = (task: Row['task']): Task => ({
  port: listener.port,
  ca: pki.ca.certificate,
  cert: identity.certificate,
  key: identity.key,
  clients: 32,
  total,
  modulo: 0,
  ...task,
})

async function row({ name, target, task, before }: Row): Promise<void> {
  if (only && !only.some((o) => name.startsWith(o))) return
  if (before) await runClients(full(before))
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const cpu = process.cpuUsage()
  const outcome = await runClients(full(task))
  const used = process.cpuUsage(cpu)
  delay.disable()
  const count = full(task).total
  const perRequest = (used.user + used.system) / count
  results[name] = { ...outcome, serverCpuMicros: perRequest, loopDelayP99: delay.percentile(99) / 1e6 }
  if (flags.json) return
  console.log(
    `${name.padEnd(22)} ${outcome.perSecond.toFixed(0).padStart(7)}/s  p50 ${outcome.p50.toFixed(2).padStart(7)} ms  p99 ${outcome.p99.toFixed(2).padStart(7)} ms  ${perRequest.toFixed(0).padStart(6)} µs CPU  loop p99 ${(delay.percentile(99) / 1e6).toFixed(0)} ms  (${target})${outcome.failed > 0 ? `  FAILED ${outcome.failed}` : ''}`,
  )
}

const objectText = (name: string, more = '') => JSON.stringify(configMap(name, 'bench', more))
const seed = { method: 'POST', path: base, body: objectText('s-{i}'), total: 1000 }
const json = { contentType: 'application/json' }

await row({
  name: 'create',
  target: '4,000/s',
  task: { method: 'POST', path: base, body: objectText('c-{i}') },
  before: { method: 'POST', path: base, body: objectText('w-{i}'), total: 3000 },
})
await runClients(full(seed))
await row({
  name: 'get',
  target: '12,000/s',
  task: { method: 'GET', path: `${base}/s-{i}`, modulo: 1000, total: total * 3 },
  before: { method: 'GET', path: `${base}/s-{i}`, modulo: 1000 },
})
await row({
  name: 'update',
  target: '3,300/s',
  task: { method: 'PUT', path: `${base}/s-{i}`, body: objectText('s-{i}', '{n}'), modulo: 1000 },
  before: { method: 'PUT', path: `${base}/s-{i}`, body: objectText('s-{i}', 'a{n}'), modulo: 1000, total: 2000 },
})
await row({
  name: 'merge patch',
  target: '3,000/s',
  task: { method: 'PATCH', path: `${base}/s-{i}`, body: '{"data":{"more":"{n}"}}', contentType: 'application/merge-patch+json', modulo: 1000 },
  before: { method: 'PATCH', path: `${base}/s-{i}`, body: '{"data":{"more":"b{n}"}}', contentType: 'application/merge-patch+json', modulo: 1000, total: 2000 },
})
await row({
  name: 'delete',
  target: '3,500/s',
  task: { method: 'DELETE', path: `${base}/d-{i}`, ...json },
  before: { method: 'POST', path: base, body: objectText('d-{i}') },
})
await row({ name: 'create, one client', target: 'p50 < 1.1 ms', task: { method: 'POST', path: base, body: objectText('one-{i}'), clients: 1, total: 500 } })
await row({ name: 'get, one client', target: 'p50 < 0.35 ms', task: { method: 'GET', path: `${base}/s-{i}`, modulo: 1000, clients: 1, total: 1000 } })

if (!only || only.some((o) => ['list', 'selector'].includes(o))) {
  const made = 10_000
  await runClients(
    full({ method: 'POST', path: '/api/v1/namespaces/bench-list/configmaps', body: JSON.stringify(configMap('l-{i}', 'bench-list')), total: made }),
  )
  await row({ name: 'list of 10,000', target: '< 120 ms', task: { method: 'GET', path: '/api/v1/namespaces/bench-list/configmaps', clients: 1, total: 10 } })
  await row({
    name: 'selector, 100 of them',
    target: '< 5 ms',
    task: { method: 'GET', path: '/api/v1/namespaces/bench-list/configmaps?labelSelector=tier%3Drare', clients: 1, total: 20 },
  })
}
if (flags.json) console.log(JSON.stringify(results))
await listener.close(0)
await bench.close()
process.exit(0)
