import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { slowness } from '../walkthrough/runner.ts'
import type { TestCluster } from './cluster.ts'
import type { Draw } from './variants.ts'

const ROUNDS = 10
const DEPLOYMENT = 'survivor'
const CONVERGE_MS = 60_000

/**
 * Kills the cluster's processes at random moments while it is written to. After each start every acknowledged object is there, containers
 * that ran still do (with containers), and everything gets to where it should be.
 */
export async function survival(cluster: TestCluster, runtime: 'real' | 'simulated', draw: Draw, say: (line: string) => void): Promise<void> {
  await cluster.kubectl('create', 'deployment', DEPLOYMENT, '--image=docker.io/library/nginx:1.27', '--replicas=2')
  await converged(cluster, 2)
  const acknowledged = new Set<string>()
  let replicas = 2
  for (let round = 1; round <= ROUNDS; round++) {
    const victims = runtime === 'real' ? draw.pick([['k8ts'], ['containerd'], ['k8ts', 'containerd']] as const) : (['k8ts'] as const)
    const before = await containers(cluster)
    const pids = await cluster.pids()
    const writer = new Writer(cluster, round, acknowledged)
    writer.start()
    const moment = draw.int(20, 900)
    await pause(moment)
    for (const v of victims) {
      const pid = v === 'k8ts' ? pids.k8ts : pids.containerd
      if (pid) process.kill(pid, 'SIGKILL')
    }
    if (!victims.includes('k8ts' as never)) await pause(200)
    await writer.stop()
    const wrote = acknowledged.size
    if (victims.includes('k8ts' as never)) await cluster.up()
    const there = new Set((await cluster.kubectl('get', 'configmaps', '-o', 'name')).trim().split('\n'))
    const lost = [...acknowledged].filter((n) => !there.has(`configmap/${n}`))
    if (lost.length > 0) throw new Error(`round ${round} (${victims.join(' and ')} after ${moment} ms): acknowledged and lost: ${lost.join(' ')}`)
    await converged(cluster, replicas)
    const after = await containers(cluster)
    if (runtime === 'real')
      for (const [pod, was] of before)
        if (after.get(pod) !== was) throw new Error(`round ${round} (${victims.join(' and ')} after ${moment} ms): ${pod} was ${was} and is ${after.get(pod)}`)
    // Another number each time, so that there is something to converge to.
    replicas = 2 + (round % 3)
    await cluster.kubectl('scale', 'deployment', DEPLOYMENT, `--replicas=${replicas}`)
    await converged(cluster, replicas)
    say(`round ${round}: ${victims.join(' and ')} killed after ${moment} ms, ${wrote} objects kept`)
  }
  if (acknowledged.size === 0) throw new Error('nothing was ever acknowledged')
  await cluster.kubectl('delete', 'deployment', DEPLOYMENT)
}

/** Pod to its container's id and start, of those that run. */
async function containers(cluster: TestCluster): Promise<Map<string, string>> {
  const path = '{range .items[*]}{.metadata.name} {.status.containerStatuses[0].containerID} {.status.containerStatuses[0].state.running.startedAt}{"\\n"}{end}'
  const text = await cluster.kubectl('get', 'pods', '-l', `app=${DEPLOYMENT}`, '--field-selector=status.phase=Running', '-o', `jsonpath=${path}`)
  return new Map(
    text
      .trim()
      .split('\n')
      .filter((l) => l !== '')
      .map((l) => [l.slice(0, l.indexOf(' ')), l.slice(l.indexOf(' ') + 1)]),
  )
}

/** The Deployment has what it asks for, and no other Pod of it is left. */
async function converged(cluster: TestCluster, replicas: number): Promise<void> {
  const end = performance.now() + CONVERGE_MS * slowness()
  const want = `${replicas} ${replicas} ${replicas}`
  for (;;) {
    const { output } = await cluster.run('kubectl', [
      'get',
      'deployment',
      DEPLOYMENT,
      '-o',
      'jsonpath={.status.readyReplicas} {.status.availableReplicas} {.status.replicas}',
    ])
    const pods = (await cluster.run('kubectl', ['get', 'pods', '-l', `app=${DEPLOYMENT}`, '-o', 'name'])).output.trim().split('\n')
    if (output === want && pods.length === replicas) return
    if (performance.now() > end) throw new Error(`the Deployment has "${output}" and ${pods.length} Pods, not ${replicas}`)
    await pause(100)
  }
}

/** Makes objects one after the other and notes those that the server has acknowledged. */
class Writer {
  private readonly cluster: TestCluster
  private readonly round: number
  private readonly acknowledged: Set<string>
  private ended = false
  private done: Promise<void> = Promise.resolve()

  constructor(cluster: TestCluster, round: number, acknowledged: Set<string>) {
    this.cluster = cluster
    this.round = round
    this.acknowledged = acknowledged
  }

  start(): void {
    this.done = (async () => {
      for (let i = 0; !this.ended && i < 10_000; i++) {
        const name = `kept-${this.round}-${i}`
        const status = await this.create(name).catch(() => 0)
        if (status === 201) this.acknowledged.add(name)
        else await pause(20)
      }
    })()
  }

  async stop(): Promise<void> {
    this.ended = true
    await this.done
  }

  private create(name: string): Promise<number> {
    const { dataDir } = this.cluster
    const pem = (file: string) => readFileSync(join(dataDir, 'pki', file))
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { round: String(this.round) } })
    return new Promise((resolve, reject) => {
      const req = request(
        `${this.cluster.server}/api/v1/namespaces/default/configmaps`,
        { method: 'POST', ca: pem('ca.crt'), cert: pem('admin.crt'), key: pem('admin.key'), headers: { 'content-type': 'application/json' }, timeout: 5000 },
        (res) => {
          res.resume()
          res.once('end', () => resolve(res.statusCode ?? 0))
          res.once('error', reject)
        },
      )
      req.once('timeout', () => req.destroy(new Error('no answer')))
      req.once('error', reject)
      req.end(body)
    })
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
