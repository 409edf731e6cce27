/**
 * Plays the tutorials against clusters of their own: `node scripts/e2e.mjs [--runtime real|simulated] [--page N] [--random] [--seed N]`.
 * Without --runtime both that this machine can run are played. Each page has a fresh cluster; when it is down nothing of it may be left.
 * Page 0 is the README, which starts and stops its own. With real containers the addresses of Services are tried too, alone with `--page services`.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { vary } from '../walkthrough/page.ts'
import { runPage } from '../walkthrough/runner.ts'
import { TestCluster } from './cluster.ts'
import { leaks, traces } from './leaks.ts'
import { machineWords } from './machine.ts'
import { playReadme } from './readme.ts'
import { services } from './services.ts'
import { survival } from './survival.ts'
import { Draw, variant } from './variants.ts'

interface Arguments {
  runtimes: ('real' | 'simulated')[]
  pages: number[]
  /** The addresses of Services are tried; else only when all pages are played. */
  services: boolean
  random: boolean
  seed: number
  verbose: boolean
  cli: string
  kubectl: string
  helm: string
}

const NODE = 'node-1'
const root = join(import.meta.dirname, '../..')
const tutorials = join(root, 'docs/tutorials')

export async function main(a: Arguments): Promise<number> {
  const files = readdirSync(tutorials)
    .filter((f) => /^\d\d-.*\.md$/.test(f))
    .sort()
    .filter((f) => a.pages.length === 0 || a.pages.includes(Number(f.slice(0, 2))))
  let passed = 0
  const failures: string[] = []
  const words = machineWords()
  if (a.random) console.log(`seed ${a.seed}`)
  if (a.runtimes.includes('simulated') && (a.pages.length === 0 || a.pages.includes(0))) {
    const start = performance.now()
    try {
      const commands = await playReadme(readFileSync(join(root, 'README.md'), 'utf8'), { nodeName: NODE, cli: a.cli, kubectl: a.kubectl })
      passed++
      console.log(`ok   README.md: ${commands} commands, ${seconds(start)}`)
    } catch (e) {
      failures.push('README.md')
      console.log(`FAIL README.md, ${seconds(start)}\n${messageOf(e)}`)
    }
  }
  if (a.runtimes.includes('real') && (a.services || a.pages.length === 0)) {
    const start = performance.now()
    try {
      const checks = await withCluster('real', NODE, a, services)
      passed++
      console.log(`ok   services (real): ${checks} checks, ${seconds(start)}`)
    } catch (e) {
      failures.push('services (real)')
      console.log(`FAIL services (real), ${seconds(start)}\n${messageOf(e)}`)
    }
  }
  if (a.services && a.pages.length === 0) files.length = 0
  for (const runtime of a.runtimes) {
    for (const file of files) {
      const number = Number(file.slice(0, 2))
      const text = readFileSync(join(tutorials, file), 'utf8')
      if (/^<!-- only real -->$/m.test(text) && runtime !== 'real') continue
      const draw = a.random ? new Draw(a.seed * 100 + number) : undefined
      const drawn = draw ? variant(number, runtime, draw) : undefined
      const nodeName = drawn?.words[NODE] ?? NODE
      const name = `${file} (${runtime}${drawn ? `, ${drawn.told}` : ''})`
      const start = performance.now()
      try {
        const commands = await play(vary(drawn ? drawn.shape(text) : text, { ...words, ...drawn?.words }), runtime, nodeName, a)
        passed++
        console.log(`ok   ${name}: ${commands} commands, ${seconds(start)}`)
      } catch (e) {
        failures.push(name)
        console.log(`FAIL ${name}, ${seconds(start)}\n${messageOf(e)}`)
      }
    }
  }
  console.log(`${passed} passed, ${failures.length} failed`)
  return failures.length === 0 ? 0 : 1
}

function play(text: string, runtime: 'real' | 'simulated', nodeName: string, a: Arguments): Promise<number> {
  return withCluster(runtime, nodeName, a, async (cluster) => {
    const result = await runPage(vary(text, cluster.portWords()), {
      runtime,
      env: cluster.env,
      ...(a.verbose ? { onStep: (s: string) => console.log(`     $ ${s}`) } : {}),
    })
    if (/^<!-- killed -->$/m.test(text)) await survival(cluster, runtime, new Draw(a.seed), (line) => console.log(`     ${line}`))
    return result.commands
  })
}

/** A fresh cluster for some work; when it is down nothing of it may be left. */
async function withCluster(runtime: 'real' | 'simulated', nodeName: string, a: Arguments, work: (cluster: TestCluster) => Promise<number>): Promise<number> {
  const cluster = new TestCluster({ runtime, nodeName, cli: a.cli, kubectl: a.kubectl, helm: a.helm })
  const before = traces(cluster.folder, runtime)
  let failure: unknown
  let commands = 0
  try {
    await cluster.up()
    await cluster.settled()
    commands = await work(cluster)
  } catch (e) {
    failure = e
    if (existsSync(join(cluster.dataDir, 'k8ts.log'))) console.log(cluster.log(20))
  }
  try {
    await cluster.down()
    const left = leaks(before, traces(cluster.folder, runtime))
    if (left.length > 0) throw new Error(`left after "k8ts down":\n${left.map((l) => `  ${l}`).join('\n')}`)
  } catch (e) {
    failure = failure ? new Error(`${messageOf(failure)}\n${messageOf(e)}`) : e
  }
  try {
    cluster.remove()
  } catch (e) {
    failure ??= e
  }
  if (failure) throw failure
  return commands
}

const messageOf = (e: unknown) => (e instanceof Error ? e.message : String(e))
const seconds = (start: number) => `${((performance.now() - start) / 1000).toFixed(1)} s`
