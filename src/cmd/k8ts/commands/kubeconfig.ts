import { readFile } from 'node:fs/promises'
import { type Command, CommandError } from '../command.ts'
import { dataDirFlag, dataDirOf } from '../data-dir-flag.ts'

const command: Command = {
  usage: 'kubeconfig [flags]',
  summary: "print the administrator's kubeconfig",
  examples: 'k8ts kubeconfig > my.conf',
  flags: dataDirFlag,
  async run(flags, io) {
    const dir = dataDirOf(flags, io)
    io.out(
      await readFile(dir.kubeconfig, 'utf8').catch(() => {
        throw new CommandError(`there is no cluster in ${dir.root}: make one with "k8ts up"`)
      }),
    )
    return 0
  },
}
export default command
