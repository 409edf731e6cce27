/**
 * `node scripts/fidelity.mjs [NAME ...]`: plays the recorded answers of the original against a whole simulated cluster out
 * of dist/ and compares the number of equal answers of every file with its floor in test/fidelity/floor.json.
 *   NAME         only the files whose name holds one of these
 *   --raise      write higher floors where more answers are equal now
 *   --details D  leave what differs of every file in folder D
 *   --node-exclusive  also the file that drains the node, alone and last
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { testTool } from './test-tools.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const floorFile = join(root, 'test/fidelity/floor.json')
const recorded = join(root, '../shared/golden/recorded')
const player = join(root, '../shared/tools/replay.mjs')
const cli = join(root, 'dist/cli.js')

/** Files at a time; more would only wait for each other on two cores. */
const PARALLEL = 3
/** Scenarios handed to the player at once: a file that hangs loses no more than these. */
const CHUNK = 6
/** Seconds these may take; after that all of their answers, and what the file still holds, count as different. */
const CHUNK_SECONDS = 120
/** Answers of a file that may fall below its floor: some depend on what controllers and the clock did between two requests. */
const SLACK = 2

/** These list what the server serves: played when no other file defines kinds. */
const DISCOVERING = ['cluster-kubectl-misc', 'machinery-discovery', 'patch-kubectl']
/** Played without controller manager and scheduler; the original gave no ranges of Pod addresses to the nodes of `core-node`. */
const WITHOUT_CONTROLLERS = /^(groups-nokcm-|core-node$)/
const NODE_EXCLUSIVE = 'cluster-zz-node-exclusive'
const CORE_LEFT = ['storage', 'resourcequota', 'rc-podtemplate', 'endpoints', 'extra'].map((n) => `core-${n}`)
const GROUPS_LEFT = ['admission', 'certificates', 'flowcontrol', 'resource', 'apiregistration']
/** All of it stands on what is not there yet, and waits for it in vain: played when asked for by name. */
const NOT_YET = ['groups-admission-effect', 'groups-admission-kcm']
const SETS = [
  {
    title: 'API basics',
    target: 90,
    has: (n) =>
      n.startsWith('machinery-') ||
      ['patch-json', 'patch-merge', 'patch-strategic', 'groups-apps'].includes(n) ||
      (n.startsWith('core-') && !CORE_LEFT.includes(n)),
  },
  {
    title: 'whole cluster',
    target: 97,
    has: (n) =>
      n !== NODE_EXCLUSIVE &&
      (/^(machinery|core|patch|cluster)-/.test(n) ||
        (n.startsWith('crd-') && n !== 'crd-cel' && n !== 'crd-validation') ||
        (n.startsWith('groups-') && !GROUPS_LEFT.some((g) => n.replace(/^groups-(nokcm-)?/, '').startsWith(g)))),
  },
]

const { values: opt, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { raise: { type: 'boolean' }, details: { type: 'string' }, 'node-exclusive': { type: 'boolean' } },
})

function skip(reason) {
  console.log(`${process.env.CI ? 'FAILED' : 'skipped'}: ${reason}`)
  console.log(process.env.CI ? '0 passed, 1 failed' : '0 passed, 0 failed')
  process.exit(process.env.CI ? 1 : 0)
}

/** Runs a command to its end, or kills it after `ms`; resolves with its exit code (null when killed) and output. */
function run(command, args, ms) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    if (args[0] === player) players.add(child)
    let out = ''
    child.stdout.on('data', (d) => (out += d))
    child.stderr.on('data', (d) => (out += d))
    const timer = setTimeout(() => child.kill('SIGKILL'), ms)
    child.on('error', (e) => {
      clearTimeout(timer)
      resolve({ code: 127, out: String(e) })
    })
    child.on('close', (code) => {
      players.delete(child)
      clearTimeout(timer)
      resolve({ code, out })
    })
  })
}

function freePort() {
  return new Promise((resolve, reject) => {
    const s = createServer()
    s.on('error', reject)
    s.listen(0, '127.0.0.1', () => {
      const { port } = s.address()
      s.close(() => resolve(port))
    })
  })
}

const answers = (scenarios) => scenarios.reduce((n, s) => n + s.steps.filter((x) => !x.sleep && !x.cleanup).length, 0)
const sleeps = (scenarios) => scenarios.reduce((n, s) => n + s.steps.reduce((m, x) => m + (x.sleep ?? 0), 0), 0)

/** Plays the next few scenarios of a file. */
async function playNext(file, env) {
  const start = performance.now()
  const { result } = file
  const part = file.scenarios.splice(0, CHUNK)
  const path = join(env.scratch, `${file.name}-${file.scenarios.length}.json`)
  writeFileSync(path, JSON.stringify(part))
  const args = [player, '--kubectl', env.kubectl, '--kubeconfig', env.kubeconfig, '--max', '1000', '-v', path]
  const r = await run(process.execPath, args, CHUNK_SECONDS * 1000)
  rmSync(path, { force: true })
  const m = /^(\d+) passed, (\d+) failed$/m.exec(r.out)
  if (m) {
    result.passed += Number(m[1])
    result.failed += Number(m[2])
  } else {
    if (r.code === null) part.push(...file.scenarios.splice(0))
    result.failed += answers(part)
    result.note = r.code === null ? `took longer than ${CHUNK_SECONDS} s` : `the player ended: ${r.out.trim().split('\n').at(-1)?.slice(0, 100)}`
    r.out += `${result.note}: ${part.map((s) => s.name).join('; ')}\n`
  }
  if (opt.details) writeFileSync(join(opt.details, `${file.name}.txt`), r.out, { flag: 'a' })
  result.seconds += (performance.now() - start) / 1000
  if (opt.details && file.scenarios.length === 0) console.error(`${file.name}: ${result.passed} passed, ${result.failed} failed`)
}

/** Several files at a time, those with the most left first; never two parts of one file. */
async function playAll(files, env, parallel) {
  const cost = (f) => sleeps(f.scenarios) * 20 + answers(f.scenarios)
  const left = files.map((f) => ({ ...f, result: { name: f.name, passed: 0, failed: 0, seconds: 0, note: '' } }))
  const results = left.map((f) => f.result)
  const busy = new Set()
  const worker = async () => {
    while (!interrupted) {
      const next = left.filter((f) => f.scenarios.length > 0 && !busy.has(f)).sort((a, b) => cost(b) - cost(a))[0]
      if (!next) return
      busy.add(next)
      await playNext(next, env)
      busy.delete(next)
    }
  }
  await Promise.all(Array.from({ length: parallel }, worker))
  return results
}

/** Moves the manifests of the controller manager and the scheduler in or out of the node's folder and waits until it took effect. */
async function controllers(env, on) {
  const names = ['kube-controller-manager', 'kube-scheduler']
  const inside = join(env.data, 'manifests')
  const outside = join(env.scratch, 'manifests')
  mkdirSync(outside, { recursive: true })
  for (const n of names) renameSync(join(on ? outside : inside, `${n}.yaml`), join(on ? inside : outside, `${n}.yaml`))
  for (let i = 0; i < 150; i++) {
    const { out } = await run(env.kubectl, ['--kubeconfig', env.kubeconfig, '-n', 'kube-system', 'get', 'pods', '-o', 'name'], 10_000)
    if (names.every((n) => out.includes(n) === on)) return
    await new Promise((f) => setTimeout(f, 200))
  }
  throw new Error(`the controllers did not ${on ? 'start' : 'stop'}`)
}

if (!existsSync(recorded) || !existsSync(player)) skip(`no recorded answers at ${recorded}`)
const kubectl = testTool('kubectl')
if (!kubectl) skip('no kubectl for this platform, or development dependencies are not installed')
if (!existsSync(cli)) skip('dist/cli.js is missing: run `npm run build` first')

const files = readdirSync(recorded)
  .filter((f) => f.endsWith('.json'))
  .map((f) => f.slice(0, -5))
  .filter((n) => (wanted.length === 0 ? !NOT_YET.includes(n) : wanted.some((w) => n.includes(w))) && (n !== NODE_EXCLUSIVE || opt['node-exclusive']))
  .map((name) => ({ name, scenarios: JSON.parse(readFileSync(join(recorded, `${name}.json`), 'utf8')) }))
if (opt.details) {
  rmSync(opt.details, { recursive: true, force: true })
  mkdirSync(opt.details, { recursive: true })
}

const started = performance.now()
/** Players at work; an interrupted run ends them, then the cluster. */
const players = new Set()
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    interrupted = true
    for (const p of players) p.kill('SIGKILL')
  })
const scratch = mkdtempSync(join(tmpdir(), 'k8ts-fidelity-'))
const env = { scratch, kubectl, data: join(scratch, 'data'), kubeconfig: join(scratch, 'data/kubeconfig') }
const results = []
try {
  const up = [
    'up',
    '--detach',
    '--runtime',
    'simulated',
    '--no-merge-kubeconfig',
    '--skip-phases',
    'addon/coredns',
    '--node-name',
    'replay-node',
    '--data-dir',
    env.data,
    '--secure-port',
  ]
  const { code, out } = await run(process.execPath, [cli, ...up, String(await freePort())], 60_000)
  if (code !== 0) throw new Error(`the cluster did not start:\n${out}`)
  // The original's node lay in a zone: its Pods carry these labels.
  const zone = ['topology.kubernetes.io/region=region-1', 'topology.kubernetes.io/zone=zone-1']
  await run(kubectl, ['--kubeconfig', env.kubeconfig, 'label', 'node', 'replay-node', ...zone], 20_000)
  const still = files.filter((f) => WITHOUT_CONTROLLERS.test(f.name))
  const alone = files.filter((f) => f.name === NODE_EXCLUSIVE)
  const looking = files.filter((f) => DISCOVERING.includes(f.name))
  const rest = files.filter((f) => !looking.includes(f) && !still.includes(f) && !alone.includes(f))
  for (const phase of [rest, looking]) results.push(...(await playAll(phase, env, PARALLEL)))
  if (still.length > 0 && !interrupted) {
    await controllers(env, false)
    results.push(...(await playAll(still, env, PARALLEL)))
    if (alone.length > 0) await controllers(env, true)
  }
  results.push(...(await playAll(alone, env, 1)))
} finally {
  await run(process.execPath, [cli, 'down', '--data-dir', env.data], 60_000)
  if (opt.details && existsSync(join(env.data, 'k8ts.log'))) writeFileSync(join(opt.details, 'k8ts.log'), readFileSync(join(env.data, 'k8ts.log')))
  rmSync(scratch, { recursive: true, force: true })
}

if (interrupted) process.exit(130)
const floors = existsSync(floorFile) ? JSON.parse(readFileSync(floorFile, 'utf8')) : {}
results.sort((a, b) => (a.name < b.name ? -1 : 1))
const below = []
const above = []
console.log(`${'FILE'.padEnd(42)} PASSED FAILED  FLOOR   TIME`)
for (const r of results) {
  const floor = floors[r.name] ?? 0
  if (r.passed < floor - SLACK) below.push(r)
  if (r.passed > floor) above.push(r)
  const mark = r.passed < floor ? '  BELOW' : r.passed > floor ? '  above' : ''
  console.log(
    `${r.name.padEnd(42)} ${String(r.passed).padStart(6)} ${String(r.failed).padStart(6)} ${String(floor).padStart(6)} ${`${Math.round(r.seconds)} s`.padStart(6)}${mark}${r.note ? `  ${r.note}` : ''}`,
  )
}
const sum = (list, key) => list.reduce((n, r) => n + r[key], 0)
if (wanted.length === 0)
  for (const s of SETS) {
    const of = results.filter((r) => s.has(r.name))
    const passed = sum(of, 'passed')
    const total = passed + sum(of, 'failed')
    console.log(`${s.title}: ${passed} of ${total} answers are the original's, ${((100 * passed) / total).toFixed(2)} % (target ${s.target} %)`)
  }
if (above.length > 0 && opt.raise) {
  for (const r of above) floors[r.name] = r.passed
  writeFileSync(floorFile, `${JSON.stringify(Object.fromEntries(Object.entries(floors).sort()), null, 2)}\n`)
  console.log(`raised ${above.length} floors`)
} else if (above.length > 0) console.log(`${above.length} floors could be raised: --raise writes them`)
if (below.length > 0) console.log(`more than ${SLACK} below their floor: ${below.map((r) => `${r.name} (${r.passed} < ${floors[r.name]})`).join(', ')}`)
console.log(`took ${Math.round((performance.now() - started) / 1000)} s`)
console.log(`${sum(results, 'passed')} passed, ${sum(results, 'failed')} failed`)
process.exit(below.length > 0 ? 1 : 0)
