import { afterEach, describe, expect, test } from 'vitest'
import { type appsv1, Cluster, isForbidden, isNotFound, resources, seededRandom, VirtualClock } from '../../src/index.ts'

let cluster: Cluster | undefined
afterEach(async () => {
  await cluster?.stop()
  cluster = undefined
})

const deployment = (name: string, replicas: number, cpu = '100m') =>
  ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image: 'nginx', resources: { requests: { cpu } } }] } },
    },
  }) as unknown as appsv1.Deployment

describe('a cluster inside the process', () => {
  test('a Deployment becomes ready, and nothing is left after stop', async () => {
    const before = process.getActiveResourcesInfo().length
    cluster = await Cluster.start()
    const { client } = cluster
    const deployments = client.resource(resources.appsv1.deployments).namespace('default')
    await deployments.create(deployment('web', 3))
    await cluster.until(async () => (await deployments.get('web')).status.readyReplicas === 3)
    const pods = (await client.resource(resources.corev1.pods).namespace('default').list()).items
    expect(pods.map((p) => [p.status.phase, p.spec.nodeName])).toEqual(Array(3).fill(['Running', 'node']))
    await cluster.stop()
    cluster = undefined
    await new Promise((r) => setTimeout(r, 20))
    expect(process.getActiveResourcesInfo().length).toBeLessThanOrEqual(before + 1)
  })

  test('under a virtual clock a lost node gives up its Pods, minutes in a moment, the same way each time', async () => {
    const clock = new VirtualClock()
    cluster = await Cluster.start({ clock, random: seededRandom(7), nodes: 2 })
    const { client } = cluster
    const deployments = client.resource(resources.appsv1.deployments).namespace('default')
    await deployments.create(deployment('web', 1))
    const pods = client.resource(resources.corev1.pods).namespace('default')
    await cluster.until(async () => (await deployments.get('web')).status.readyReplicas === 1)
    const [first] = (await pods.list()).items
    await cluster.stopNode(first?.spec.nodeName as string)
    const start = clock.now()
    await cluster.until(async () => (await pods.list()).items.some((p) => p.spec.nodeName !== first?.spec.nodeName && p.status.phase === 'Running'), 900_000)
    const minutes = (clock.now() - start) / 60_000
    expect(minutes).toBeGreaterThan(5)
    expect(minutes).toBeLessThan(8)
  })

  test('two clusters never see each other', async () => {
    cluster = await Cluster.start({ controllers: false, scheduler: false })
    const other = await Cluster.start({ controllers: false, scheduler: false })
    try {
      const maps = (c: Cluster) => c.client.resource(resources.corev1.configmaps).namespace('default')
      await maps(cluster).create({ metadata: { name: 'only-here' } })
      await expect(maps(other).get('only-here')).rejects.toSatisfy(isNotFound)
    } finally {
      await other.stop()
    }
  })

  test('another user may do what RBAC lets it, no more', async () => {
    cluster = await Cluster.start({ controllers: false, scheduler: false, nodes: 1 })
    const nobody = cluster.as({ name: 'jane', groups: [] })
    await expect(nobody.resource(resources.corev1.secrets).namespace('default').list()).rejects.toSatisfy(isForbidden)
  })
})
