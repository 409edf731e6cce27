import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { remove, scratch } from './cluster.ts'
import type { LoadJob, LoadResult } from './load-main.ts'

/** Runs a program of this folder with a job in a process of its own; it prints its result as JSON. */
export async function inProcess<T>(program: string, job: unknown): Promise<T> {
  const dir = scratch()
  try {
    const file = join(dir, 'job.json')
    writeFileSync(file, JSON.stringify(job), { mode: 0o600 })
    const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, program), file], { stdio: ['ignore', 'pipe', 'inherit'] })
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    await new Promise((resolve) => child.once('close', resolve))
    return JSON.parse(out) as T
  } finally {
    remove(dir)
  }
}

/** Runs load to its end. @throws Error when nothing was answered well */
export async function load(job: LoadJob): Promise<LoadResult> {
  const result = await inProcess<LoadResult>('load-main.ts', job)
  if (result.done === 0) throw new Error(`no request succeeded: ${JSON.stringify(result.failures)}`)
  return result
}
