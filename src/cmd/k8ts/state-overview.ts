import { homedir } from 'node:os'
import { join } from 'node:path'
import { callControl } from '../../cluster/local/control-socket.ts'
import { dataDir } from '../../cluster/local/data-dir.ts'
import type { CommandIO } from './command.ts'
import { statusText } from './commands/status.ts'
import type { ClusterStatus } from './control.ts'

/** The cluster's state and three next commands. */
export async function describeState(io: CommandIO): Promise<string> {
  const dir = dataDir(io.env.K8TS_DATA_DIR || join(homedir(), '.k8ts'))
  const next = (...lines: string[]) => `\nnext:\n${lines.map((l) => `  ${l}\n`).join('')}`
  try {
    const status = await callControl<ClusterStatus>(dir.socket, 'GET', '/status')
    return statusText(status) + next('k8ts kubectl get pods -A', 'k8ts ssh', 'k8ts down')
  } catch {
    return `no cluster of ${dir.root} is running\n${next('k8ts up             start it here', 'k8ts up --detach    start it in the background', 'k8ts --help         all commands')}`
  }
}
