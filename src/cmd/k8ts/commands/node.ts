import { callControl } from '../../../cluster/local/control-socket.ts'
import { suggest, UsageError } from '../../../component-base/flags/index.ts'
import { type Command, CommandError } from '../command.ts'
import { dataDirFlag, dataDirOf } from '../data-dir-flag.ts'

const VERBS = ['add', 'stop', 'start', 'delete']
const DONE: Record<string, string> = { add: 'added', stop: 'stopped', start: 'started', delete: 'deleted' }

const command: Command = {
  usage: 'node add|stop|start|delete NAME',
  summary: 'add simulated nodes, switch them off and on, delete them',
  examples: 'k8ts node add worker-1\nk8ts node stop worker-1     as if its power failed',
  flags: dataDirFlag,
  words: [VERBS],
  async run(flags, io) {
    const [verb = '', name] = flags.args
    if (!VERBS.includes(verb)) throw new UsageError(`the first word must be one of ${VERBS.join(', ')}${suggest(verb, VERBS)}`)
    if (!name || flags.args.length > 2) throw new UsageError('give the name of one node')
    const dir = dataDirOf(flags, io)
    try {
      await callControl(dir.socket, 'POST', `/node/${verb}`, { name })
    } catch (e) {
      const code = (e as NodeJS.ErrnoException).code
      if (code === 'ENOENT' || code === 'ECONNREFUSED') throw new CommandError(`no cluster of ${dir.root} is running: start it with "k8ts up"`)
      throw e
    }
    io.out(`node/${name} ${DONE[verb]}\n`)
    return 0
  },
}
export default command
