import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { remove, scratch } from './cluster.ts'
import type { LoadJob, LoadResult } from './load-main.ts'

/** Runs a job in a process of its own. @throws Error when nothing was answered well */
export async function load(job: LoadJob): Promise<LoadResult> {
  const dir = scratch()
  try {
    const file = join(dir, 'job.json')
    writeFileSync(file, JSON.stringify(job), { mode: 0o600 })
    const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'load-main.ts'), file], { stdio: ['ignore', 'pipe', 'inherit'] })
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    await new Promise((resolve) => child.once('close', resolve))
    const result = JSON.parse(out) as LoadResult
    if (result.done === 0) throw new Error(`no request succeeded: ${JSON.stringify(result.failures)}`)
    return result
  } finally {
    remove(dir)
  }
}
