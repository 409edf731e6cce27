/**
 * Makes dist/: the command as ESM chunks that load when needed, and the library with its types. `--if-stale` does nothing when
 * dist/ is newer than every source.
 */

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const newest = (dir) => {
  let at = 0
  for (const e of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, e.name)
    at = Math.max(at, e.isDirectory() ? newest(path) : statSync(path).mtimeMs)
  }
  return at
}
const stamp = 'dist/.built'
if (process.argv.includes('--if-stale')) {
  try {
    const built = statSync(stamp).mtimeMs
    if (built > Math.max(newest('src'), statSync('package.json').mtimeMs, statSync('scripts/build.mjs').mtimeMs)) process.exit(0)
  } catch {}
}

const esbuild = await import('esbuild')
const pkg = JSON.parse(readFileSync('package.json', 'utf8'))
rmSync('dist', { recursive: true, force: true })
mkdirSync('dist', { recursive: true })
await esbuild.build({
  entryPoints: { cli: 'src/cmd/k8ts/main.ts', index: 'src/index.ts' },
  outdir: 'dist',
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  minifySyntax: true,
  minifyWhitespace: true,
  keepNames: false,
  legalComments: 'none',
  external: Object.keys(pkg.dependencies),
  define: { 'process.env.K8TS_VERSION': JSON.stringify(pkg.version) },
  logLevel: 'warning',
})
const cli = readFileSync('dist/cli.js', 'utf8')
if (!cli.startsWith('#!')) writeFileSync('dist/cli.js', `#!/usr/bin/env node\n${cli}`, { mode: 0o755 })
chmodSync('dist/cli.js', 0o755)
if (!process.argv.includes('--no-types')) {
  const types = spawnSync(process.execPath, ['node_modules/ts7/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' })
  if (types.status !== 0) process.exit(1)
}
await import('./descriptions.mjs')
writeFileSync(stamp, '')
