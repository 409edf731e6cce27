/** `npm test`: sets up what is missing, then runs every test. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const run = (cmd, args) => {
  const r = spawnSync(cmd, args, { stdio: 'inherit' })
  if (r.status !== 0) process.exit(r.status ?? 1)
}
if (!existsSync('node_modules')) run('npm', ['ci', '--no-audit', '--no-fund'])
run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)])
