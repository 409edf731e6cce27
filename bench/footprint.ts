import { cpuMs, pause, remove, residentMb, scratch, up } from './cluster.ts'
import { HttpClient } from './http-client.ts'
import type { Bench } from './row.ts'

const SETTLED_MS = 60_000
const IDLE_MS = 30_000

/** Memory and idle work of a cluster that runs one Deployment of three Pods. */
export const footprint: Bench = {
  name: 'footprint',
  async run(tell) {
    const dir = scratch()
    try {
      const cluster = await up(dir)
      try {
        const client = await HttpClient.open(cluster.connection)
        const labels = { app: 'web' }
        const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'nginx' }] } }
        const { status, body } = await client.request(
          'POST',
          '/apis/apps/v1/namespaces/default/deployments',
          JSON.stringify({ metadata: { name: 'web' }, spec: { replicas: 3, selector: { matchLabels: labels }, template } }),
        )
        client.close()
        if (status !== 201) throw new Error(`deployment: ${status} ${body}`)
        await pause(SETTLED_MS - IDLE_MS)
        const before = cpuMs(cluster.pid)
        await pause(IDLE_MS)
        const idle = (cpuMs(cluster.pid) - before) / IDLE_MS
        tell({
          what: 'memory 60 s after a Deployment of 3 Pods',
          figure: residentMb(cluster.pid),
          unit: 'MB',
          target: { most: 150 },
          note: 'resident, all processes',
        })
        tell({ what: 'idle CPU, 3 Pods', figure: idle * 100, unit: '% of a core', target: { most: 2 } })
      } finally {
        cluster.down()
      }
    } finally {
      remove(dir)
    }
  },
}
