import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { compare } from './compare.ts'
import { type Page, parsePage } from './page.ts'

export interface RunOptions {
  runtime: 'real' | 'simulated'
  env: Record<string, string>
  /** Told of each command as it is done. */
  onStep?(text: string): void
}

export class PageMismatch extends Error {
  constructor(page: Page, line: number, command: string, why: string, output: string) {
    super(`${page.title}, line ${line}: ${command}\n     ${why}\n--- whole output\n${output}`)
    this.name = 'PageMismatch'
  }
}

/** Commands that only look: repeated until the cluster has got where the page says, or the time is over. */
const LOOKS =
  /^(kubectl( -n \S+| --\S+)* (get|describe|logs|top|events|auth|api-resources|version|wait|rollout (status|history))|curl|wget|etcdctl|k8ts (status|version))\b/

/** How much longer things may take here and now: a machine with four times the work it can do is four times as slow. */
export function slowness(): number {
  return Math.min(20, Math.max(1, (loadavg()[0] ?? 0) / availableParallelism()))
}

/** Plays a page; throws PageMismatch at the first output that is not the page's. */
export async function runPage(markdown: string, options: RunOptions): Promise<{ commands: number }> {
  const page = parsePage(markdown)
  const cwd = mkdtempSync(join(tmpdir(), 'walkthrough-'))
  const background: { child: ChildProcess; output: () => string; step: Extract<Page['steps'][number], { kind: 'command' }> }[] = []
  let commands = 0
  try {
    for (const step of page.steps) {
      if (step.kind === 'file') {
        writeFileSync(join(cwd, step.name), step.text)
        continue
      }
      if (step.only && step.only !== options.runtime) continue
      commands++
      if (step.background) {
        background.push({ ...start(step.command, cwd, options.env), step })
        continue
      }
      const seconds = step.seconds * slowness()
      const end = performance.now() + seconds * 1000
      const repeat = !step.once && LOOKS.test(step.command)
      for (;;) {
        const { code, output } = await finish(step.command, cwd, options.env, seconds * 1000 + 60_000)
        const why = code !== step.exit ? `exit code ${code}, not ${step.exit}` : compare(step.output, output.split('\n'))
        if (why === undefined) break
        if (!repeat || performance.now() > end) throw new PageMismatch(page, step.line, step.command, why, output)
        await new Promise((r) => setTimeout(r, 150))
      }
      options.onStep?.(step.command)
    }
    for (const b of background) {
      const end = performance.now() + b.step.seconds * slowness() * 1000
      for (;;) {
        const why = compare(b.step.output, b.output().split('\n'))
        if (why === undefined) break
        if (performance.now() > end) throw new PageMismatch(page, b.step.line, b.step.command, why, b.output())
        await new Promise((r) => setTimeout(r, 100))
      }
    }
    return { commands }
  } finally {
    for (const b of background) if (b.child.pid && b.child.exitCode === null) process.kill(-b.child.pid, 'SIGTERM')
    rmSync(cwd, { recursive: true, force: true })
  }
}

function start(command: string, cwd: string, env: Record<string, string>) {
  const child = spawn('bash', ['-c', `exec 2>&1; ${command}`], {
    cwd,
    env: { ...process.env, ...env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  const take = (b: Buffer) => {
    output += b.toString()
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  return { child, output: () => output }
}

function finish(command: string, cwd: string, env: Record<string, string>, timeoutMs: number): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const { child, output } = start(command, cwd, env)
    const timer = setTimeout(() => {
      if (child.pid) process.kill(-child.pid, 'SIGKILL')
    }, timeoutMs)
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      resolve({ code: code ?? (signal ? 128 : 1), output: output() })
    })
  })
}
