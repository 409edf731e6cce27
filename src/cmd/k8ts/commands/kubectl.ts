import { spawn } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Command, CommandError, type CommandIO } from '../command.ts'
import { dataDirFlag, dataDirOf } from '../data-dir-flag.ts'

const command: Command = {
  usage: 'kubectl [kubectl arguments]',
  summary: "run kubectl with this cluster's kubeconfig",
  examples: 'k8ts kubectl get pods -A',
  flags: dataDirFlag,
  passThrough: true,
  async run(flags, io) {
    const dir = dataDirOf(flags, io)
    const path = await findKubectl(io)
    if (!path) throw new CommandError('no kubectl is on the PATH: install it (https://kubernetes.io/docs/tasks/tools/) and try again')
    return new Promise((resolve, reject) => {
      const child = spawn(path, flags.args, { stdio: 'inherit', env: { ...io.env, KUBECONFIG: dir.kubeconfig } as NodeJS.ProcessEnv })
      child.once('error', (e) => reject(new CommandError(`cannot run ${path}: ${e.message}`)))
      child.once('exit', (code, signal) => resolve(code ?? (signal ? 128 : 1)))
    })
  },
}
export default command

/** The one on the PATH, else in a clone the one of the test dependency. */
export async function findKubectl(io: CommandIO): Promise<string | undefined> {
  for (const dir of (io.env.PATH ?? '').split(delimiter)) {
    if (dir === '') continue
    const path = join(dir, 'kubectl')
    if (await executable(path)) return path
  }
  // In a clone: upstream's, from the test dependency.
  const tools = join(dirname(fileURLToPath(import.meta.url)), '../scripts/test-tools.mjs')
  if (
    !(await access(tools).then(
      () => true,
      () => false,
    ))
  )
    return undefined
  const { testTool } = (await import(tools)) as { testTool(name: string): string | undefined }
  return testTool('kubectl')
}

function executable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
