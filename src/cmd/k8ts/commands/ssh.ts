import { spawn } from 'node:child_process'
import { readState } from '../../../cluster/local/data-dir.ts'
import { type Command, CommandError } from '../command.ts'
import { dataDirFlag, dataDirOf } from '../data-dir-flag.ts'

const command: Command = {
  usage: 'ssh [NODE] [-- COMMAND…]',
  summary: "a shell on the node, with the node's manifests at /etc/kubernetes/manifests",
  examples: 'k8ts ssh\nk8ts ssh -- mv /etc/kubernetes/manifests/kube-scheduler.yaml /tmp/',
  flags: dataDirFlag,
  async run(flags, io) {
    const dir = dataDirOf(flags, io)
    const state = await readState(dir)
    if (!state) throw new CommandError(`there is no cluster in ${dir.root}: make one with "k8ts up"`)
    const args = [...flags.args]
    // A first word that is the node's name names the node; anything else is the command.
    if (args[0] === state.nodeName) args.shift()
    else if (args[0] && state.simulatedNodes.includes(args[0])) throw new CommandError(`${args[0]} is simulated: it has no machine to go to`)
    const shell = io.env.SHELL ?? '/bin/sh'
    const env = { ...io.env, MANIFESTS: dir.manifests, KUBECONFIG: dir.kubeconfig, K8TS_NODE: state.nodeName } as NodeJS.ProcessEnv
    const own = args.length === 0 ? [shell] : args
    const root = process.platform === 'linux' && process.getuid?.() === 0
    // A private mount namespace: the machine itself sees no /etc/kubernetes.
    const script = 'mkdir -p /etc/kubernetes/manifests && mount --bind "$MANIFESTS" /etc/kubernetes/manifests && exec "$@"'
    const [cmd, ...rest] = root ? ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', ...own] : own
    if (!root && args.length === 0)
      io.out(`the node's manifests are in $MANIFESTS (${dir.manifests}): being at /etc/kubernetes/manifests needs root on Linux\n`)
    return new Promise((resolve, reject) => {
      const child = spawn(cmd as string, rest, { stdio: 'inherit', env })
      child.once('error', (e) => reject(new CommandError(`cannot run ${cmd}: ${e.message}`)))
      child.once('exit', (code, signal) => resolve(code ?? (signal ? 128 : 1)))
    })
  },
}
export default command
