/**
 * `npm start`: sets up a clone and runs the cluster in the foreground. Arguments go to `k8ts up`; `--no-install` leaves the system's packages
 * alone, `--demo` goes on to show a Deployment at work.
 */
import { spawn, spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const major = Number(process.versions.node.split('.')[0])
if (major < 20) {
  console.error(`k8ts needs Node.js 20 or later, this is ${process.versions.node}: install a newer one (https://nodejs.org) and try again`)
  process.exit(1)
}
const root = join(dirname(fileURLToPath(import.meta.url)), '..')
process.chdir(root)
const argv = process.argv.slice(2)
const demo = argv.includes('--demo')
const rest = argv.filter((a) => a !== '--demo' && a !== '--no-install')
try {
  const { build, installDependencies, installPackages } = await import('./setup.mjs')
  installDependencies()
  const missing = rest.includes('--runtime=simulated') ? [] : installPackages({ install: !argv.includes('--no-install') })
  if (missing.length > 0) console.log(`not installed: ${missing.join(' ')}; without them Pods are simulated`)
  build()
} catch (e) {
  console.error(e.message)
  process.exit(1)
}
const cli = join(root, 'dist/cli.js')
if (!demo) {
  const child = spawn(process.execPath, [cli, 'up', ...rest], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal === 'SIGTERM' ? 'SIGTERM' : undefined))
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 128 : 1)))
} else {
  const up = spawnSync(process.execPath, [cli, 'up', '--detach', ...rest], { stdio: 'inherit' })
  if (up.status !== 0) process.exit(up.status ?? 1)
  const { runDemo } = await import('./demo.mjs')
  process.exit(
    await runDemo(
      cli,
      rest.filter((a, i) => a.startsWith('--data-dir') || rest[i - 1] === '--data-dir'),
    ),
  )
}
