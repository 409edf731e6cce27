/**
 * Plays docs/tutorials against clusters: `node scripts/e2e.mjs [--runtime real|simulated] [--page N|services]... [--random] [--seed N] [-v]`.
 * Builds dist/ when a source is newer. Without --runtime: real where this machine can run containers, and simulated.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { register } from 'tsx/esm/api'
import { testTool } from './test-tools.mjs'

const root = join(import.meta.dirname, '..')
const { values } = parseArgs({
  options: {
    runtime: { type: 'string', multiple: true },
    page: { type: 'string', multiple: true },
    random: { type: 'boolean' },
    seed: { type: 'string' },
    verbose: { type: 'boolean', short: 'v' },
  },
})
const runs = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0
const canRunContainers = process.platform === 'linux' && process.getuid?.() === 0 && runs('containerd', '--version') && runs('nft', '--version')
const runtimes = values.runtime ?? (canRunContainers ? ['real', 'simulated'] : ['simulated'])
for (const r of runtimes) if (r !== 'real' && r !== 'simulated') throw new Error(`--runtime takes real or simulated, not ${r}`)
const kubectl = testTool('kubectl')
const helm = testTool('helm')
if (!kubectl || !helm) {
  console.error('no kubectl and helm for this machine: the tutorials are played on x86-64 Linux')
  process.exit(1)
}
if (!runs(process.execPath, 'scripts/build.mjs', '--if-stale', '--no-types')) throw new Error('the build failed: node scripts/build.mjs --no-types')
register()
const { main } = await import('../test/e2e/main.ts')
process.exitCode = await main({
  runtimes,
  pages: (values.page ?? []).filter((p) => p !== 'services').map(Number),
  services: values.page?.includes('services') ?? false,
  random: values.random ?? false,
  seed: values.seed === undefined ? Math.floor(Math.random() * 1e6) : Number(values.seed),
  verbose: values.verbose ?? false,
  cli: join(root, 'dist/cli.js'),
  kubectl,
  helm,
})
