/** `npm run check`: every check that needs no running cluster, each with its time; all run even when one fails. */
import { spawnSync } from 'node:child_process'

const node = process.execPath
const steps = [
  ['format and lint', [node, 'node_modules/@biomejs/biome/bin/biome', 'check', '--max-diagnostics=50', '.']],
  ['types', [node, 'node_modules/ts7/bin/tsc', '-p', 'tsconfig.json']],
  ['walls and cycles', [node, 'scripts/check-walls.mjs']],
  ['injected time and chance', [node, 'scripts/check-injected.mjs']],
  ['unused code', [node, 'node_modules/knip/bin/knip.js', '--no-progress']],
  ['generated files', [node, '--import', 'tsx', 'scripts/generate/main.ts', '--check']],
]
let failed = 0
for (const [name, [cmd, ...args]] of steps) {
  const start = performance.now()
  const run = spawnSync(cmd, args, { encoding: 'utf8' })
  const ms = Math.round(performance.now() - start)
  const ok = run.status === 0
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${ms} ms)`)
  if (!ok) {
    failed++
    console.log(`${run.stdout}${run.stderr}`.trim())
  }
}
process.exit(failed ? 1 : 0)
