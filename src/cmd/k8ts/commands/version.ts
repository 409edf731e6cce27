import { versionInfo } from '../../../component-base/version.ts'
import type { Command } from '../command.ts'
import { k8tsVersion } from '../k8ts-version.ts'

const command: Command = {
  usage: 'version [flags]',
  summary: 'print versions',
  examples: 'k8ts version\nk8ts version -o json',
  flags: { output: { kind: 'string', short: 'o', usage: 'json', values: ['json'] } },
  async run(flags, io) {
    const info = versionInfo()
    if (flags.string('output') === 'json')
      io.out(`${JSON.stringify({ k8ts: k8tsVersion, kubernetes: info.gitVersion, node: process.versions.node, platform: info.platform })}\n`)
    else io.out(`k8ts ${k8tsVersion}, Kubernetes ${info.gitVersion}, Node.js ${process.versions.node} (${info.platform})\n`)
    return 0
  },
}
export default command
