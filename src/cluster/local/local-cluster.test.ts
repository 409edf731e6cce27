import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type corev1, resources } from '../../api/index.ts'
import { dataDir, prepareDataDir } from './data-dir.ts'
import { LocalCluster } from './local-cluster.ts'
import { type HeldPort, holdFreePort } from './preflight.ts'

async function freePort(): Promise<number> {
  const { port, listener } = await holdFreePort('127.0.0.1', 30_000 + (process.pid % 20_000))
  await new Promise((resolve) => listener.close(resolve))
  return port
}

test('a start ends when a Pod can be made and finds its node', { timeout: 120_000 }, async () => {
  const dir = dataDir(await mkdtemp(join(tmpdir(), 'k8ts-local-')))
  await prepareDataDir(dir)
  const etcd: HeldPort = await holdFreePort('127.0.0.1', 23_790)
  const lines: string[] = []
  const cluster = new LocalCluster({
    dir,
    state: {
      formatVersion: 1,
      k8tsVersion: 'test',
      nodeName: 'node-1',
      runtime: 'simulated',
      securePort: await freePort(),
      etcdPort: etcd.port,
      bindAddress: '127.0.0.1',
      simulatedNodes: ['node-2'],
    },
    demoImages: false,
    registryMirrors: [],
    etcdListener: etcd.listener,
    logSink: { write: (line) => void lines.push(line) },
    verbosity: 0,
    onStep: () => {},
  })
  try {
    await cluster.start()
    const client = cluster.adminClient()
    const nodes = await client.resource(resources.corev1.nodes).list()
    expect(nodes.items.map((n) => [n.metadata.name, n.spec?.taints ?? []])).toEqual([
      ['node-1', []],
      ['node-2', []],
    ])
    const pods = client.resource(resources.corev1.pods).namespace('default')
    const made = await pods.create({ metadata: { name: 'first' }, spec: { containers: [{ name: 'c', image: 'nginx' }] } } as corev1.Pod)
    expect(made.spec.serviceAccountName).toBe('default')
  } finally {
    await cluster.stop({ containers: true })
    await rm(dir.root, { recursive: true, force: true })
  }
  expect(lines.filter((line) => line.includes('EADDRINUSE'))).toEqual([])
})
