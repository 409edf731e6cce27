import { callControl } from '../../../cluster/local/control-socket.ts'
import { readState } from '../../../cluster/local/data-dir.ts'
import type { Finding } from '../../../cluster/local/doctor.ts'
import { UsageError } from '../../../component-base/flags/index.ts'
import type { Command } from '../command.ts'
import { dataDirFlag, dataDirOf } from '../data-dir-flag.ts'
import { loadCluster } from '../load-cluster.ts'

const MARKS: Record<Finding['verdict'], string> = { ok: 'ok', limit: '-', fault: 'FAULT' }

const command: Command = {
  usage: 'doctor [flags]',
  summary: 'look at what a cluster needs of this machine, and say how to get what is missing',
  examples: 'k8ts doctor\nk8ts doctor -o json',
  flags: { ...dataDirFlag, output: { kind: 'string', short: 'o', usage: 'json', values: ['json'] } },
  async run(flags, io) {
    const output = flags.string('output')
    if (output !== '' && output !== 'json') throw new UsageError(`--output takes json, not ${JSON.stringify(output)}`)
    const dir = dataDirOf(flags, io)
    const running = await callControl(dir.socket, 'GET', '/status').then(
      () => true,
      () => false,
    )
    const state = await readState(dir).catch(() => undefined)
    const { examine, conclude } = await loadCluster()
    const findings = await examine({
      dataDir: dir.root,
      running,
      bindAddress: state?.bindAddress ?? '127.0.0.1',
      securePort: state?.securePort ?? 6443,
      nodeVersion: process.versions.node,
      path: io.env.PATH ?? '',
    })
    const { cluster, containers } = conclude(findings)
    if (output === 'json') io.out(`${JSON.stringify({ cluster, containers, findings }, null, 2)}\n`)
    else {
      const width = Math.max(...findings.map((f) => f.what.length))
      for (const { what, verdict, detail, fix } of findings) {
        io.out(`${MARKS[verdict].padEnd(5)}  ${what.padEnd(width)}  ${detail}\n`)
        if (fix !== undefined) io.out(`${' '.repeat(width + 9)}to mend it: ${fix}\n`)
      }
      io.out(
        `\n${containers ? 'clusters run here with real containers' : cluster ? 'clusters run here with simulated Pods; what the lines marked - say keeps real containers away or limits them' : 'no cluster runs here until the faults are mended'}\n`,
      )
    }
    return cluster ? 0 : 1
  },
}
export default command
