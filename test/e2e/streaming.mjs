/** Streams between upstream's kubectl and containers: `node test/e2e/streaming.mjs [--runtime real|simulated]... [--megabytes N]`. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { register } from 'tsx/esm/api'
import { testTool } from '../../scripts/test-tools.mjs'

const root = join(import.meta.dirname, '../..')
const { values } = parseArgs({
  options: { runtime: { type: 'string', multiple: true }, megabytes: { type: 'string', default: '20' }, kubectl: { type: 'string' } },
})
const runs = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0
const canRunContainers = process.platform === 'linux' && process.getuid?.() === 0 && runs('containerd', '--version') && runs('nft', '--version')
const kubectl = values.kubectl ?? testTool('kubectl')
if (!kubectl) {
  console.error('no kubectl for this machine')
  process.exit(1)
}
if (spawnSync(process.execPath, ['scripts/build.mjs', '--if-stale', '--no-types'], { cwd: root, stdio: 'inherit' }).status !== 0) process.exit(1)
register()
const { main } = await import('./streaming.ts')
process.exitCode = await main({
  runtimes: values.runtime ?? (canRunContainers ? ['real', 'simulated'] : ['simulated']),
  megabytes: Number(values.megabytes),
  cli: join(root, 'dist/cli.js'),
  kubectl,
})
