import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, Cluster, type corev1, resources, seededRandom, VirtualClock } from '../../src/index.ts'

let cluster: Cluster
let client: Client
let count = 0
const clock = new VirtualClock()

beforeAll(async () => {
  cluster = await Cluster.start({ clock, random: seededRandom(3), nodes: 3, machine: { cpus: 4, memoryBytes: 8 * 2 ** 30 } })
  client = cluster.client
})
afterAll(() => cluster.stop())

const pods = () => client.resource(resources.corev1.pods).namespace('default')
const nodes = () => client.resource(resources.corev1.nodes)

async function create(spec: Partial<corev1.PodSpec> & { cpu?: string }, metadata: Partial<corev1.Pod['metadata']> = {}): Promise<string> {
  const name = `p${++count}`
  const { cpu, ...rest } = spec
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: {
      automountServiceAccountToken: false,
      containers: [{ name: 'main', image: 'nginx', ...(cpu ? { resources: { requests: { cpu } } } : {}) }],
      ...rest,
    },
  } as unknown as corev1.Pod
  await cluster.run(pods().create(pod))
  return name
}

const scheduled = async (name: string): Promise<string> => {
  await cluster.until(async () => !!(await pods().get(name)).spec.nodeName)
  return (await pods().get(name)).spec.nodeName as string
}

/** The message of the PodScheduled condition, once it is there. */
const refused = async (name: string): Promise<string> => {
  let message = ''
  await cluster.until(async () => {
    const c = (await pods().get(name)).status.conditions?.find((x) => x.type === 'PodScheduled' && x.status === 'False')
    message = c?.message ?? ''
    return message !== ''
  })
  return message
}

const remove = async (...names: string[]) => {
  for (const name of names) await cluster.run(pods().delete(name, { gracePeriodSeconds: 0 }))
}

const patchNode = (name: string, type: 'merge', patch: unknown) => cluster.run(nodes().patch(name, type, patch))

const NOT_HELPFUL = 'no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.'

describe('the scheduler', () => {
  test('places a Pod and tells of it in its events', async () => {
    const name = await create({ cpu: '100m' })
    const node = await scheduled(name)
    let event: corev1.Event | undefined
    await cluster.until(async () => {
      const { items } = await client.resource(resources.corev1.events).namespace('default').list()
      event = items.find((e) => e.involvedObject.name === name && e.reason === 'Scheduled')
      return event !== undefined
    })
    expect(event).toMatchObject({
      action: 'Binding',
      message: `Successfully assigned default/${name} to ${node}`,
      reportingComponent: 'default-scheduler',
      type: 'Normal',
    })
    await remove(name)
  })

  test.each<[string, Partial<corev1.PodSpec> & { cpu?: string }, string]>([
    ['more than any node has', { cpu: '64' }, `0/3 nodes are available: 3 Insufficient cpu. ${NOT_HELPFUL}`],
    [
      'a selector nobody matches',
      { nodeSelector: { disk: 'tape' } },
      `0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. ${NOT_HELPFUL}`,
    ],
    [
      'an affinity to Pods that are not there',
      {
        affinity: {
          podAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'none' } } }],
          },
        } as never,
      },
      `0/3 nodes are available: 3 node(s) didn't match pod affinity rules. ${NOT_HELPFUL}`,
    ],
  ])('%s: refused in the original words', async (_, spec, message) => {
    const name = await create(spec)
    expect(await refused(name)).toBe(message)
    await remove(name)
  })

  test('a Pod that waits for room is placed when room appears', async () => {
    const full: string[] = []
    for (let i = 0; i < 3; i++) full.push(await create({ cpu: '3' }))
    for (const name of full) await scheduled(name)
    const waiting = await create({ cpu: '3' })
    expect(await refused(waiting)).toBe(
      '0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.',
    )
    await remove(full[0] as string)
    await scheduled(waiting)
    await remove(waiting, full[1] as string, full[2] as string)
  })

  test('a cordoned node and an untolerated taint are left out, and used again when they go', async () => {
    const [a, b, c] = (await nodes().list()).items.map((n) => n.metadata.name as string)
    await patchNode(a as string, 'merge', { spec: { unschedulable: true } })
    await patchNode(b as string, 'merge', { spec: { taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] } })
    // The scheduler hears of it a moment later.
    await clock.advance(50)
    const name = await create({ cpu: '100m' })
    expect(await scheduled(name)).toBe(c)
    const both = await create({ cpu: '100m', nodeSelector: { 'kubernetes.io/hostname': a as string } })
    expect(await refused(both)).toContain('node(s) were unschedulable')
    await patchNode(a as string, 'merge', { spec: { unschedulable: null } })
    expect(await scheduled(both)).toBe(a)
    await patchNode(b as string, 'merge', { spec: { taints: null } })
    await remove(name, both)
  })

  test('required anti-affinity spreads, one Pod a node', async () => {
    const affinity = {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'spread' } } }],
      },
    } as never
    const names: string[] = []
    for (let i = 0; i < 3; i++) names.push(await create({ affinity }, { labels: { app: 'spread' } }))
    const placed = new Set(await Promise.all(names.map(scheduled)))
    expect(placed.size).toBe(3)
    const fourth = await create({ affinity }, { labels: { app: 'spread' } })
    expect(await refused(fourth)).toContain("3 node(s) didn't match pod anti-affinity rules")
    await remove(...names, fourth)
  })

  test('a Pod of higher priority takes the place of one of lower', async () => {
    const classes = client.resource(resources.schedulingv1.priorityclasses)
    await cluster.run(classes.create({ metadata: { name: 'high' }, value: 1000 } as never))
    await clock.advance(50)
    const low: string[] = []
    for (let i = 0; i < 3; i++) low.push(await create({ cpu: '3', terminationGracePeriodSeconds: 1 }))
    for (const name of low) await scheduled(name)
    const high = await create({ cpu: '3', priorityClassName: 'high' })
    const node = await scheduled(high)
    const { items } = await client.resource(resources.corev1.events).namespace('default').list()
    const uid = (await pods().get(high)).metadata.uid
    expect(items.some((e) => e.reason === 'Preempted' && e.message === `Preempted by pod ${uid} on node ${node}`)).toBe(true)
    const left = (await pods().list()).items.map((p) => p.metadata.name as string)
    expect(low.filter((n) => left.includes(n))).toHaveLength(2)
    await remove(...left)
  })

  test('gated Pods wait without an event until their gates are gone', async () => {
    const name = await create({ schedulingGates: [{ name: 'example.com/wait' }] } as never)
    expect(await refused(name)).toBe('Scheduling is blocked due to non-empty scheduling gates')
    await cluster.run(pods().patch(name, 'merge', { spec: { schedulingGates: null } }))
    await scheduled(name)
    await remove(name)
  })

  test('host ports are not given twice', async () => {
    const spec = { containers: [{ name: 'main', image: 'nginx', ports: [{ containerPort: 80, hostPort: 8080 }] }] } as never
    const names: string[] = []
    for (let i = 0; i < 3; i++) names.push(await create(spec))
    for (const name of names) await scheduled(name)
    const fourth = await create(spec)
    expect(await refused(fourth)).toBe(
      "0/3 nodes are available: 3 node(s) didn't have free ports for the requested pod ports. no new claims to deallocate, preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.",
    )
    // The node takes the next one at once: a Pod that is gone from the API holds nothing.
    await remove(names[0] as string)
    await scheduled(fourth)
    await cluster.until(async () => (await pods().get(fourth)).status.phase !== 'Pending')
    expect((await pods().get(fourth)).status.phase).toBe('Running')
    await remove(...names.slice(1), fourth)
  })
})
