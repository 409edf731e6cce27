import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemRandom } from '../src/base/random.ts'
import { systemClock } from '../src/base/system-clock.ts'
import { createPki } from '../src/cluster/pki/index.ts'
import { type Connection, remove, scratch } from './cluster.ts'

export interface Bare {
  pid: number
  connection: Connection
  stop(): Promise<void>
}

/** Starts `bare-server.ts`, the measure of what a machine can do today. @param listBytes about how long its list is */
export async function bareServer(listBytes = 0): Promise<Bare> {
  const dir = scratch()
  const pki = await createPki({ clock: systemClock(), random: systemRandom(), nodeName: 'bench' })
  const client = pki.client({ commonName: 'bench', organizations: [] })
  const file = join(dir, 'job.json')
  const job = { ca: pki.ca.certificate, cert: pki.apiserver.certificate, key: pki.apiserver.key, dir: join(dir, 'data'), listBytes }
  writeFileSync(file, JSON.stringify(job), { mode: 0o600 })
  const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'bare-server.ts'), file], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const port = await Promise.race([
    new Promise<number>((resolve) => child.stdout.once('data', (text) => resolve(Number(text)))),
    ended.then(() => {
      throw new Error('the bare server did not start')
    }),
  ])
  return {
    pid: child.pid as number,
    connection: { host: '127.0.0.1', port, ca: pki.ca.certificate, cert: client.certificate, key: client.key },
    async stop() {
      child.stdin.end()
      await ended
      remove(dir)
    },
  }
}
