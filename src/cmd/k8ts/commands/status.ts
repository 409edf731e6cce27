import { callControl } from '../../../cluster/local/control-socket.ts'
import type { Command } from '../command.ts'
import type { ClusterStatus } from '../control.ts'
import { dataDirFlag, dataDirOf } from '../data-dir-flag.ts'

const command: Command = {
  usage: 'status [flags]',
  summary: 'tell how the cluster is',
  examples: 'k8ts status\nk8ts status -o json',
  flags: { ...dataDirFlag, output: { kind: 'string', short: 'o', usage: 'json', values: ['json'] } },
  async run(flags, io) {
    const dir = dataDirOf(flags, io)
    const json = flags.string('output') === 'json'
    let status: ClusterStatus
    try {
      status = await callControl<ClusterStatus>(dir.socket, 'GET', '/status')
    } catch (e) {
      const code = (e as NodeJS.ErrnoException).code
      if (code !== 'ENOENT' && code !== 'ECONNREFUSED') throw e
      if (json) io.out(`${JSON.stringify({ running: false, dataDir: dir.root })}\n`)
      else io.out(`no cluster of ${dir.root} is running: start it with "k8ts up"\n`)
      return 3
    }
    if (json) io.out(`${JSON.stringify({ running: true, ...status }, null, 2)}\n`)
    else io.out(statusText(status))
    return 0
  },
}
export default command

export function statusText(s: ClusterStatus): string {
  const rows: [string, string][] = [
    ['version', `${s.version} (k8ts ${s.k8ts})`],
    ['pid', `${s.pid}, up ${s.uptimeSeconds} s${s.starting ? ', starting' : ''}`],
    ['components', s.components.map((c) => `${c.name}${c.ready ? '' : ' (not ready)'}`).join(', ') || 'none yet'],
    ['nodes', s.nodes.map((n) => `${n.name}${n.running ? '' : ' (stopped)'}`).join(', ') || 'none yet'],
    ['runtime', s.containerdPid ? `${s.runtime} (containerd pid ${s.containerdPid})` : s.runtime],
    ['API server', s.endpoints.apiServer],
    ['etcd', s.endpoints.etcd],
    ['data', s.dataDir],
  ]
  return rows.map(([k, v]) => `${k.padEnd(11)} ${v}\n`).join('')
}
