/**
 * Makes dist/: the command, the cluster it starts, and the library with its types. `--if-stale` does nothing when dist/ is newer than
 * every source.
 *
 * The command (cli.cjs) is small, so that it answers at once; what it needs of the cluster is one script (cluster.cjs) that
 * load-cluster.cjs runs from compiled code. Everything but native packages is inside; THIRD_PARTY_NOTICES says what.
 */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { notices } from './notices.mjs'

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
    if (built > Math.max(newest('src'), statSync('package.json').mtimeMs, newest('scripts'))) process.exit(0)
  } catch {}
}

const esbuild = await import('esbuild')
const pkg = JSON.parse(readFileSync('package.json', 'utf8'))
rmSync('dist', { recursive: true, force: true })
mkdirSync('dist', { recursive: true })

const common = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  minifySyntax: true,
  minifyWhitespace: true,
  keepNames: false,
  legalComments: 'none',
  external: Object.keys(pkg.dependencies),
  define: { 'process.env.K8TS_VERSION': JSON.stringify(pkg.version) },
  logLevel: 'warning',
  metafile: true,
}
const script = {
  ...common,
  format: 'cjs',
  outdir: 'dist',
  outExtension: { '.js': '.cjs' },
  define: { ...common.define, 'import.meta.url': '__importMetaUrl' },
  banner: { js: 'const __importMetaUrl=require("node:url").pathToFileURL(__filename).href;' },
}
/** In the command, the cluster is what load-cluster.cjs gives. */
const clusterApart = {
  name: 'cluster-apart',
  setup(build) {
    build.onLoad({ filter: /cmd\/k8ts\/load-cluster\.ts$/ }, () => ({
      contents: `export const loadCluster = async () => require('./load-cluster.cjs')()
export const saveCompiledCode = async () => require('./load-cluster.cjs').saveCompiledCode()`,
    }))
    build.onResolve({ filter: /^\.\/load-cluster\.cjs$/ }, ({ path }) => ({ path, external: true }))
  },
}
/** An old Node.js reads only cli.cjs, which tells it so. */
const runApart = {
  name: 'run-apart',
  setup(build) {
    build.onResolve({ filter: /^\.\/run\.ts$/ }, () => ({ path: './run.cjs', external: true }))
  },
}
/** lmdb's JavaScript inside, its native part where it is installed. */
const lmdbInside = {
  name: 'lmdb-inside',
  setup(build) {
    build.onResolve({ filter: /^lmdb$/, namespace: 'file' }, ({ kind }) =>
      kind === 'require-resolve' ? { path: 'lmdb', external: true } : { path: fileURLToPath(import.meta.resolve('lmdb')) },
    )
    build.onLoad({ filter: /node_modules[\\/]lmdb[\\/]native\.js$/ }, ({ path }) => {
      const before = /^let dirName = .*$/m
      const source = readFileSync(path, 'utf8')
      if (!before.test(source)) throw new Error(`${path} has no dirName`)
      return { contents: source.replace(before, `let dirName = dirname(dirname(require.resolve('lmdb')))`), loader: 'js' }
    })
  },
}
const results = await Promise.all([
  esbuild.build({
    ...script,
    banner: { js: '#!/usr/bin/env node' },
    supported: { 'dynamic-import': false },
    target: 'es2017',
    entryPoints: { cli: 'src/cmd/k8ts/main.ts' },
    plugins: [runApart],
  }),
  esbuild.build({ ...script, entryPoints: { run: 'src/cmd/k8ts/run.ts' }, plugins: [clusterApart] }),
  // A script from compiled code cannot import(): it requires.
  esbuild.build({
    ...script,
    supported: { 'dynamic-import': false },
    entryPoints: { cluster: 'src/cmd/k8ts/cluster-code.ts' },
    external: [],
    plugins: [lmdbInside],
  }),
  esbuild.build({
    ...common,
    entryPoints: { index: 'src/index.ts' },
    outdir: 'dist',
    chunkNames: 'chunks/[name]-[hash]',
    splitting: true,
    format: 'esm',
    banner: { js: 'import{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);' },
  }),
])
/** Every command reads it first. */
const RUN_BYTES = 100_000
const runBytes = statSync('dist/run.cjs').size
if (runBytes > RUN_BYTES) throw new Error(`run.cjs has ${runBytes} bytes, more than ${RUN_BYTES}: a command imports the cluster, which only loadCluster() may`)
const hash = createHash('sha256').update(readFileSync('dist/cluster.cjs')).digest('hex').slice(0, 16)
writeFileSync('dist/load-cluster.cjs', readFileSync('scripts/load-cluster.cjs', 'utf8').replace('__CLUSTER_HASH__', hash))
writeFileSync('dist/cli.js', '#!/usr/bin/env node\nimport "./cli.cjs"\n', { mode: 0o755 })
for (const name of ['dist/cli.js', 'dist/cli.cjs']) chmodSync(name, 0o755)
writeFileSync('dist/THIRD_PARTY_NOTICES', notices(results.map((r) => r.metafile)))
if (!process.argv.includes('--no-types')) {
  const types = spawnSync(process.execPath, ['node_modules/ts7/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' })
  if (types.status !== 0) process.exit(1)
}
await import('./descriptions.mjs')
if (!process.argv.includes('--no-compiled-code')) await compileCode()
writeFileSync(stamp, '')

/** Starts a cluster once, so that its code lies compiled beside it; without that, the first start does it. */
async function compileCode() {
  const dir = mkdtempSync(join(tmpdir(), 'k8ts-build-'))
  const port = 20_000 + (process.pid % 20_000)
  const run = (...args) => spawnSync(process.execPath, ['dist/cli.cjs', ...args, '--data-dir', dir], { encoding: 'utf8', timeout: 60_000 })
  try {
    const up = run('up', '--detach', '--runtime', 'simulated', '--no-merge-kubeconfig', '--secure-port', String(port))
    if (up.status !== 0) console.error(`the code is not compiled in advance: ${up.stderr || up.error || up.signal}`)
    for (let i = 0; up.status === 0 && i < 100 && !existsSync('dist/.code'); i++) await new Promise((resolve) => setTimeout(resolve, 100))
  } finally {
    run('down')
    rmSync(dir, { recursive: true, force: true, maxRetries: 20 })
  }
}
