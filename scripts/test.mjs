/**
 * `npm test`: sets up what is missing, then runs every test: unit tests, recorded answers, and the tutorial
 * pages on real and simulated containers. Under CI a missing real part is a failure; elsewhere it is skipped, and named.
 * `npm test -- unit` runs one part (unit, fidelity, e2e).
 */
import { spawn } from 'node:child_process'
import { build, installDependencies, installPackages } from './setup.mjs'

const ci = !!process.env.CI
const only = process.argv.slice(2).filter((a) => !a.startsWith('-'))
const install = !process.argv.includes('--no-install')
installDependencies()
const missing = installPackages({ install, testing: true })
if (missing.length > 0) {
  console.log(`not installed: ${missing.join(' ')}`)
  if (ci) process.exit(1)
}
build()
const root = process.getuid?.() === 0 && process.platform === 'linux'
const real = ci || (root && missing.length === 0)
const parts = [
  ['unit', ['node_modules/vitest/vitest.mjs', 'run']],
  ['fidelity', ['scripts/fidelity.mjs']],
  ['e2e simulated', ['scripts/e2e.mjs', '--runtime', 'simulated']],
  ['e2e streams simulated', ['test/e2e/streaming.mjs', '--runtime', 'simulated']],
  ['e2e streams real', ['test/e2e/streaming.mjs', '--runtime', 'real'], real],
  // Pages that have variants are drawn, the others played as they are.
  ['e2e real', ['scripts/e2e.mjs', '--runtime', 'real', '--random'], real],
]
/** Enough for the summary of a part. */
const TAIL_CHARS = 100_000
let passed = 0
let failed = 0
let skipped = 0
let differ = 0
for (const [name, args, there = true] of parts) {
  if (only.length > 0 && !only.some((o) => name.startsWith(o))) continue
  if (!there) {
    console.log(`\n--- ${name}: skipped (needs root on Linux with containerd)`)
    skipped++
    continue
  }
  console.log(`\n--- ${name}`)
  const start = performance.now()
  const r = await shown(args)
  const count = [...r.tail.matchAll(/(?:^|\n)(?:Tests\s+)?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?/g)].at(-1)
  // Recorded answers that are known to differ are counted on their own: what may not happen is fewer equal ones than before.
  const known = name === 'fidelity' && r.status === 0
  if (count) {
    passed += Number(count[1])
    if (known) differ += Number(count[2])
    else failed += Number(count[2])
    skipped += Number(count[3] ?? 0)
  }
  if (r.status !== 0 && !(count && Number(count[2]) > 0)) failed++
  console.log(`--- ${name}: ${r.status === 0 ? 'ok' : 'FAILED'} in ${((performance.now() - start) / 1000).toFixed(1)} s`)
}
if (differ > 0) console.log(`\n${differ} recorded answers differ as docs/fidelity.md tells`)
console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`)
process.exit(failed > 0 ? 1 : 0)

/** Runs a program of ours, its output shown as it comes; keeps the end of it, where the counts are. */
async function shown(args) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NO_COLOR: '1' } })
  let tail = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    process.stdout.write(text)
    tail = (tail + text).slice(-TAIL_CHARS)
  })
  const status = await new Promise((resolve) => child.once('close', resolve))
  return { status, tail }
}
