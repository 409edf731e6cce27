import { callControl } from '../../../cluster/local/control-socket.ts'
import { type DataDir, readState } from '../../../cluster/local/data-dir.ts'
import { removeLeftovers } from '../../../cluster/local/leftovers.ts'
import type { Command } from '../command.ts'
import { dataDirFlag, dataDirOf } from '../data-dir-flag.ts'
import { loadCluster } from '../load-cluster.ts'

const command: Command = {
  usage: 'down [flags]',
  summary: 'stop the cluster and its containers; its data stays',
  examples: 'k8ts down',
  flags: dataDirFlag,
  async run(flags, io) {
    const dir = dataDirOf(flags, io)
    let pid: number
    try {
      pid = (await callControl<{ pid: number }>(dir.socket, 'POST', '/stop', { containers: true })).pid
    } catch (e) {
      const code = (e as NodeJS.ErrnoException).code
      if (code !== 'ENOENT' && code !== 'ECONNREFUSED') throw e
      const left = await removeKilled(dir)
      io.out(`no cluster of ${dir.root} is running${left ? '; its containers, which it left behind, are ended' : ''}\n`)
      return 0
    }
    const start = performance.now()
    while (alive(pid)) {
      if (performance.now() - start > 90_000) {
        io.err(`the cluster (pid ${pid}) has not ended within 90 s: see ${dir.log}\n`)
        return 1
      }
      await new Promise((resolve) => setImmediate(resolve)).then(() => pause(20))
    }
    io.out(`stopped (${Math.round(performance.now() - start)} ms); "k8ts up" starts it again\n`)
    return 0
  },
}
export default command

/** A cluster that was killed leaves its containers running, for the next start to find: here nothing of it shall stay. */
async function removeKilled(dir: DataDir): Promise<boolean> {
  // A record that cannot be read may be of a cluster with containers.
  const state = await readState(dir).catch(() => ({ runtime: 'cri' }))
  if (state?.runtime !== 'cri') return false
  const left = await removeLeftovers(dir)
  const { NodeContainers } = await loadCluster()
  await NodeContainers.removeNetwork()
  return left > 0
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function pause(ms: number): Promise<void> {
  const { setTimeout: wait } = await import('node:timers/promises')
  await wait(ms)
}
