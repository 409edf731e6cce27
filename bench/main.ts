/** `npm run bench`: every row of docs/benchmarks.md. `--only NAME` runs one group, `--all` also those that need more than a plain machine. */
import { spawnSync } from 'node:child_process'
import { cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import { command } from './command.ts'
import { footprint } from './footprint.ts'
import { lists } from './lists.ts'
import { api } from './requests.ts'
import { type Bench, type Row, shown, verdict } from './row.ts'
import { scale } from './scale.ts'
import { start, startContainers } from './start.ts'
import { watch } from './watch.ts'

const benches: readonly Bench[] = [command, start, startContainers, api, watch, lists, scale, footprint]

const args = process.argv.slice(2)
const only = args.flatMap((a, i) => (a.startsWith('--only=') ? a.slice(7).split(',') : a === '--only' ? (args[i + 1] ?? '').split(',') : []))
const unknown = only.filter((n) => !benches.some((b) => b.name === n))
if (unknown.length > 0) {
  console.error(`no bench is called ${unknown.join(', ')}: there are ${benches.map((b) => b.name).join(', ')}`)
  process.exit(1)
}

const build = spawnSync(process.execPath, ['scripts/build.mjs', '--no-types', '--if-stale'], { stdio: 'inherit', cwd: join(import.meta.dirname, '..') })
if (build.status !== 0) process.exit(1)

console.log(
  `Node.js ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB; load before: ${loadavg()
    .map((l) => l.toFixed(1))
    .join(' ')}`,
)
const cell = (text: string, width: number) => text.padEnd(width)
const line = (what: string, figure: string, target: string, result: string, note: string) =>
  console.log(`${cell(what, 46)} ${figure.padStart(20)}  ${cell(target, 18)} ${cell(result, 5)} ${note}`.trimEnd())
line('what', 'figure', 'target', '', '')
const print = (row: Row) => {
  const target = !row.target ? '' : 'most' in row.target ? `≤ ${row.target.most} ${row.unit}` : `≥ ${row.target.least.toLocaleString('en-US')} ${row.unit}`
  line(row.what, `${shown(row.figure)} ${row.unit}`, target, verdict(row), row.note ?? '')
}
let failed = false
for (const bench of benches) {
  if (only.length > 0 ? !only.includes(bench.name) : bench.onRequest && !args.includes('--all')) {
    if (only.length === 0) console.log(`(${bench.name}: only with --all or --only ${bench.name}: ${bench.onRequest})`)
    continue
  }
  try {
    await bench.run(print)
  } catch (e) {
    failed = true
    console.log(`${bench.name} failed: ${e instanceof Error ? e.message : String(e)}`)
  }
}
console.log(
  `load after: ${loadavg()
    .map((l) => l.toFixed(1))
    .join(' ')}`,
)
process.exitCode = failed ? 1 : 0
