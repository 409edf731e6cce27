/** Runs the benches (bench/main.ts) with their arguments: `npm run bench -- --only api`. */
import { spawnSync } from 'node:child_process'

const { status } = spawnSync(process.execPath, ['--import', 'tsx', 'bench/main.ts', ...process.argv.slice(2)], { stdio: 'inherit' })
process.exit(status ?? 1)
