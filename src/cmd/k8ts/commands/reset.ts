import { rm } from 'node:fs/promises'
import { readState } from '../../../cluster/local/data-dir.ts'
import { type Command, CommandError } from '../command.ts'
import { dataDirFlag, dataDirOf } from '../data-dir-flag.ts'
import down from './down.ts'

const command: Command = {
  usage: 'reset --yes [flags]',
  summary: 'stop the cluster and remove everything it has',
  examples: 'k8ts reset --yes',
  flags: { ...dataDirFlag, yes: { kind: 'bool', short: 'y', usage: 'do it: nothing of the cluster can be brought back' } },
  async run(flags, io) {
    const dir = dataDirOf(flags, io)
    const state = await readState(dir).catch(() => undefined)
    if (!flags.bool('yes')) throw new CommandError(`this removes ${dir.root} with every object of the cluster: say so with --yes`)
    // Also what a killed one left.
    const code = await down.run(flags, io)
    if (code !== 0) return code
    // Only what a cluster put there: the folder may be somebody's home by mistake.
    const { manifests, pki, etcd, kubelet, logs, containerd, kubeconfig, socket, log, state: stateFile } = dir
    for (const path of [manifests, pki, etcd, kubelet, logs, containerd, kubeconfig, socket, log, stateFile]) await rm(path, { recursive: true, force: true })
    for (const name of ['admin.conf', 'super-admin.conf', 'controller-manager.conf', 'scheduler.conf', 'kubelet.conf'])
      await rm(`${dir.root}/${name}`, { force: true })
    io.out(state ? `removed the cluster of ${dir.root}\n` : `there was no cluster in ${dir.root}\n`)
    return 0
  },
}
export default command
