import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Client, Cluster, type corev1, resources, seededRandom, type storagev1, VirtualClock } from '../../src/index.ts'

let cluster: Cluster
let client: Client
let count = 0
let nodeNames: string[] = []
const clock = new VirtualClock()

beforeAll(async () => {
  cluster = await Cluster.start({ clock, random: seededRandom(5), nodes: 3, machine: { cpus: 4, memoryBytes: 8 * 2 ** 30 } })
  client = cluster.client
  nodeNames = (await nodes().list()).items.map((n) => n.metadata.name as string).sort()
})
afterAll(() => cluster.stop())
afterEach(async () => {
  for (const p of (await pods().list()).items) await cluster.run(pods().delete(p.metadata.name as string, { gracePeriodSeconds: 0 }))
  await cluster.until(async () => (await pods().list()).items.length === 0)
  for (const c of (await claims().list()).items) await cluster.run(claims().delete(c.metadata.name as string))
  for (const v of (await volumes().list()).items) await cluster.run(volumes().delete(v.metadata.name as string))
  await cluster.until(async () => (await claims().list()).items.length + (await volumes().list()).items.length === 0)
})

const pods = () => client.resource(resources.corev1.pods).namespace('default')
const nodes = () => client.resource(resources.corev1.nodes)
const claims = () => client.resource(resources.corev1.persistentvolumeclaims).namespace('default')
const volumes = () => client.resource(resources.corev1.persistentvolumes)
const storage = resources.storagev1

const named = (prefix: string) => `${prefix}${++count}`
const onNode = (node: string) => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] }] },
})

async function storageClass(spec: Partial<storagev1.StorageClass> = {}): Promise<string> {
  const name = named('class')
  const object = { metadata: { name }, provisioner: 'kubernetes.io/no-provisioner', volumeBindingMode: 'WaitForFirstConsumer', ...spec }
  await cluster.run(client.resource(storage.storageclasses).create(object as never))
  return name
}

async function volume(storageClassName: string, spec: Partial<corev1.PersistentVolumeSpec> = {}, labels?: Record<string, string>): Promise<string> {
  const name = named('pv')
  const object = {
    metadata: { name, ...(labels ? { labels } : {}) },
    spec: {
      capacity: { storage: '2Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName,
      ...('csi' in spec ? {} : { hostPath: { path: '/tmp/x' } }),
      ...spec,
    },
  }
  await cluster.run(volumes().create(object as never))
  return name
}

async function claim(storageClassName: string, spec: Partial<corev1.PersistentVolumeClaimSpec> = {}): Promise<string> {
  const name = named('claim')
  const object = { metadata: { name }, spec: { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage: '1Gi' } }, ...spec } }
  await cluster.run(claims().create(object as never))
  return name
}

async function pod(claimNames: readonly string[], spec: Partial<corev1.PodSpec> = {}): Promise<string> {
  const name = named('p')
  const object = {
    metadata: { name },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: 'nginx' }],
      volumes: claimNames.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
      ...spec,
    },
  }
  await cluster.run(pods().create(object as never))
  return name
}

const scheduled = async (name: string): Promise<string> => {
  await cluster.until(async () => !!(await pods().get(name)).spec.nodeName)
  return (await pods().get(name)).spec.nodeName as string
}

/** Waits for the message of the PodScheduled condition. */
const refused = async (name: string, message: string, reason = 'Unschedulable') => {
  let condition: corev1.PodCondition | undefined
  await cluster
    .until(async () => {
      condition = (await pods().get(name)).status.conditions?.find((c) => c.type === 'PodScheduled' && c.status === 'False')
      return condition?.message === message
    })
    .catch(() => {})
  expect({ message: condition?.message, reason: condition?.reason }).toEqual({ message, reason })
}

const NOT_HELPFUL = 'no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.'

describe('claims', () => {
  test('one that is missing, then unbound, then bound', async () => {
    const className = named('by-hand')
    const name = await pod(['late'])
    await refused(name, '0/3 nodes are available: persistentvolumeclaim "late" not found. not found')
    const spec = { accessModes: ['ReadWriteOnce'], storageClassName: className, resources: { requests: { storage: '1Gi' } } }
    await cluster.run(claims().create({ metadata: { name: 'late' }, spec } as never))
    await refused(name, '0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found')
    await volume(className)
    await scheduled(name)
  })

  test('a bound one keeps its Pod on the nodes of its volume', async () => {
    const className = named('by-hand')
    const home = nodeNames[1] as string
    await volume(className, { nodeAffinity: onNode(home) })
    const name = await claim(className)
    await cluster.until(async () => (await claims().get(name)).status?.phase === 'Bound')
    expect(await scheduled(await pod([name]))).toBe(home)
    const away = await pod([name], { nodeSelector: { 'kubernetes.io/hostname': nodeNames[0] as string } })
    await refused(
      away,
      `0/3 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 2 node(s) didn't match Pod's node affinity/selector. ${NOT_HELPFUL}`,
    )
  })

  test('one that is being deleted, and one whose volume is gone', async () => {
    const className = named('by-hand')
    const pv = await volume(className)
    const name = await claim(className)
    await cluster.until(async () => (await claims().get(name)).status?.phase === 'Bound')
    await cluster.run(volumes().delete(pv))
    await cluster.run(volumes().patch(pv, 'merge', { metadata: { finalizers: null } }))
    await cluster.until(async () => (await claims().get(name)).status?.phase === 'Lost')
    await refused(await pod([name]), `0/3 nodes are available: persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${pv}". not found`)
    const held = await claim(className)
    await cluster.run(claims().patch(held, 'merge', { metadata: { finalizers: ['example.com/hold'] } }))
    await cluster.run(claims().delete(held))
    await clock.advance(50)
    await refused(await pod([held]), `0/3 nodes are available: persistentvolumeclaim "${held}" is being deleted. not found`)
    await cluster.run(claims().patch(held, 'merge', { metadata: { finalizers: null } }))
  })

  test('of a generic ephemeral volume: waits for its controller, and takes no claim of others', async () => {
    const className = await storageClass()
    const template = { spec: { accessModes: ['ReadWriteOnce'], storageClassName: className, resources: { requests: { storage: '1Gi' } } } }
    const ephemeral = (name: string) => ({ volumes: [{ name, ephemeral: { volumeClaimTemplate: template } }] }) as never
    await volume(className)
    await scheduled(await pod([], ephemeral('data')))
    const name = `p${count + 1}`
    await cluster.run(claims().create({ metadata: { name: `${name}-data` }, spec: template.spec } as never))
    expect(await pod([], ephemeral('data'))).toBe(name)
    await refused(name, `0/3 nodes are available: PVC default/${name}-data was not created for pod default/${name} (pod is not owner). not found`)
  })
})

describe('claims that wait for a consumer', () => {
  test('are bound where their Pod goes; what one Pod was promised is not offered to the next', async () => {
    const className = await storageClass()
    for (const node of nodeNames.slice(0, 2)) await volume(className, { nodeAffinity: onNode(node) })
    const names = [await claim(className), await claim(className), await claim(className)]
    await clock.advance(1000)
    expect((await claims().list()).items.map((c) => c.status?.phase)).toEqual(['Pending', 'Pending', 'Pending'])
    const users = await Promise.all(names.map((n) => pod([n])))
    await clock.advance(5000)
    const bound = (await pods().list()).items.filter((p) => p.spec.nodeName)
    expect(bound.map((p) => p.spec.nodeName).sort()).toEqual(nodeNames.slice(0, 2))
    expect(bound.map((p) => p.status.nominatedNodeName)).toEqual([undefined, undefined])
    const left = users.find((u) => !bound.some((p) => p.metadata.name === u)) as string
    await refused(left, `0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind. ${NOT_HELPFUL}`)
    for (const v of (await volumes().list()).items) {
      expect(v.metadata.annotations).toMatchObject({ 'pv.kubernetes.io/bound-by-controller': 'yes' })
      expect(v.spec.claimRef?.uid).toBe((await claims().get(v.spec.claimRef?.name as string)).metadata.uid)
    }
    await volume(className, { nodeAffinity: onNode(nodeNames[2] as string) })
    expect(await scheduled(left)).toBe(nodeNames[2])
  })

  test('the smallest claim chooses first, and the smallest volume that fits', async () => {
    const className = await storageClass()
    const small = await volume(className, { capacity: { storage: '1Gi' } })
    const large = await volume(className, { capacity: { storage: '5Gi' } })
    const big = await claim(className, { resources: { requests: { storage: '4Gi' } } })
    const little = await claim(className)
    await scheduled(await pod([big, little]))
    expect((await claims().get(little)).spec.volumeName).toBe(small)
    expect((await claims().get(big)).spec.volumeName).toBe(large)
  })

  test('one claim in two volumes of a Pod is one claim', async () => {
    const className = await storageClass()
    const home = await volume(className)
    const other = await volume(className, { capacity: { storage: '3Gi' } })
    const name = await claim(className)
    const both = ['a', 'b'].map((v) => ({ name: v, persistentVolumeClaim: { claimName: name } }))
    await scheduled(await pod([], { volumes: both } as never))
    expect((await volumes().get(home)).spec.claimRef?.name).toBe(name)
    expect((await volumes().get(other)).spec.claimRef).toBeUndefined()
  })

  /** Makes a volume for a claim, as a provisioner does. */
  const provision = async (claimName: string, node: string) => {
    const c = await claims().get(claimName)
    const claimRef = { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace: 'default', name: claimName, uid: c.metadata.uid } as corev1.ObjectReference
    await volume(c.spec.storageClassName as string, { claimRef, nodeAffinity: onNode(node) })
  }
  const selected = async (claimName: string): Promise<string> => {
    const of = async () => (await claims().get(claimName)).metadata.annotations?.['volume.kubernetes.io/selected-node']
    await cluster.until(async () => (await of()) !== undefined)
    return (await of()) as string
  }

  test('a provisioner is told the node; the Pod is bound when the volume is there, and others need not wait for it', async () => {
    const className = await storageClass({ provisioner: 'example.com/disks' })
    const name = await claim(className)
    const user = await pod([name])
    const node = await selected(name)
    expect((await claims().get(name)).metadata.annotations).toMatchObject({ 'volume.kubernetes.io/storage-provisioner': 'example.com/disks' })
    await scheduled(await pod([]))
    await clock.advance(30_000)
    const waiting = await pods().get(user)
    expect([waiting.spec.nodeName, waiting.status.nominatedNodeName]).toEqual([undefined, node])
    await provision(name, node)
    expect(await scheduled(user)).toBe(node)
    expect((await pods().get(user)).status.nominatedNodeName).toBeUndefined()
  })

  test('a provisioner that gives up lets the Pod look for a node again', async () => {
    const className = await storageClass({ provisioner: 'example.com/disks' })
    const name = await claim(className)
    const user = await pod([name])
    await selected(name)
    await cluster.run(claims().patch(name, 'merge', { metadata: { annotations: { 'volume.kubernetes.io/selected-node': null } } }))
    await refused(user, `running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "${name}"`, 'SchedulerError')
    const node = await selected(name)
    await provision(name, node)
    expect(await scheduled(user)).toBe(node)
  })

  test('a provisioner that does nothing: the Pod is told after ten minutes', async () => {
    const className = await storageClass({ provisioner: 'example.com/disks' })
    const name = await claim(className)
    const user = await pod([name])
    await selected(name)
    await clock.advance(599_000)
    expect((await pods().get(user)).status.conditions?.find((c) => c.type === 'PodScheduled')).toBeUndefined()
    await clock.advance(5000)
    await refused(user, 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded', 'SchedulerError')
  })

  test('allowed topologies and published capacity', async () => {
    const [first, second] = nodeNames as [string, string]
    const allowedTopologies = [{ matchLabelExpressions: [{ key: 'kubernetes.io/hostname', values: [first, second] }] }]
    const className = await storageClass({ provisioner: 'sized.example.com', allowedTopologies })
    await cluster.run(client.resource(storage.csidrivers).create({ metadata: { name: 'sized.example.com' }, spec: { storageCapacity: true } } as never))
    await clock.advance(50)
    const name = await claim(className)
    const user = await pod([name])
    await refused(
      user,
      `0/3 nodes are available: 1 node(s) didn't find available persistent volumes to bind, 2 node(s) did not have enough free storage. ${NOT_HELPFUL}`,
    )
    const capacities = client.resource(storage.csistoragecapacities).namespace('default')
    const nodeTopology = { matchLabels: { 'kubernetes.io/hostname': second } }
    await cluster.run(capacities.create({ metadata: { name: 'c' }, storageClassName: className, nodeTopology, capacity: '512Mi' } as never))
    await clock.advance(30_000)
    expect((await claims().get(name)).metadata.annotations?.['volume.kubernetes.io/selected-node']).toBeUndefined()
    await cluster.run(capacities.patch('c', 'merge', { capacity: '1Gi' }))
    expect(await selected(name)).toBe(second)
    await provision(name, second)
    expect(await scheduled(user)).toBe(second)
  })
})

describe('volumes of one user', () => {
  const inUse = 'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod'

  test('ReadWriteOncePod: the next one waits until the first is gone, unless it may preempt it', async () => {
    const className = named('by-hand')
    await volume(className, { accessModes: ['ReadWriteOncePod'] })
    const name = await claim(className, { accessModes: ['ReadWriteOncePod'] })
    const classes = client.resource(resources.schedulingv1.priorityclasses)
    await cluster.run(classes.create({ metadata: { name: 'urgent' }, value: 1000 } as never))
    const first = await pod([name])
    await scheduled(first)
    const second = await pod([name])
    await refused(
      second,
      `0/3 nodes are available: 3 ${inUse}. no new claims to deallocate, preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.`,
    )
    await cluster.run(pods().delete(first, { gracePeriodSeconds: 0 }))
    await scheduled(second)
    const urgent = await pod([name], { priorityClassName: 'urgent' })
    await scheduled(urgent)
    expect((await pods().list()).items.map((p) => p.metadata.name)).not.toContain(second)
  })

  test('a disk written into Pods is not given to two on one node', async () => {
    const disk = { volumes: [{ name: 'd', iscsi: { targetPortal: '10.0.0.1:3260', iqn: 'iqn.2001-04.com.example:disk', lun: 0 } }] } as Partial<corev1.PodSpec>
    const users = [await pod([], disk), await pod([], disk), await pod([], disk)]
    expect(new Set(await Promise.all(users.map(scheduled))).size).toBe(3)
    const fourth = await pod([], disk)
    await refused(
      fourth,
      '0/3 nodes are available: 3 node(s) had no available disk. no new claims to deallocate, preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.',
    )
    await cluster.run(pods().delete(users[0] as string, { gracePeriodSeconds: 0 }))
    await scheduled(fourth)
  })
})

test("no more volumes of a driver on a node than its CSINode's count, attachments included", async () => {
  const csiNodes = client.resource(storage.csinodes)
  const driver = (n: number) => ({ spec: { drivers: [{ name: 'few.example.com', nodeID: 'x', topologyKeys: [], allocatable: { count: n } }] } })
  for (const n of nodeNames) {
    const there = (await csiNodes.list()).items.some((c) => c.metadata.name === n)
    if (!there) await cluster.run(csiNodes.create({ metadata: { name: n }, ...driver(1) } as never))
    else await cluster.run(csiNodes.patch(n, 'merge', driver(1)))
  }
  const className = named('by-hand')
  const one = async () => {
    await volume(className, { csi: { driver: 'few.example.com', volumeHandle: named('handle') } as never })
    const name = await claim(className)
    await cluster.until(async () => (await claims().get(name)).status?.phase === 'Bound')
    return name
  }
  const names = [await one(), await one(), await one()]
  const attached = (await claims().get(await one())).spec.volumeName
  const attachment = { metadata: { name: 'a' }, spec: { attacher: 'few.example.com', nodeName: nodeNames[0], source: { persistentVolumeName: attached } } }
  await cluster.run(client.resource(storage.volumeattachments).create(attachment as never))
  await clock.advance(50)
  const [first, second] = [await pod([names[0] as string]), await pod([names[1] as string])]
  expect([await scheduled(first), await scheduled(second)].sort()).toEqual(nodeNames.slice(1))
  const third = await pod([names[2] as string])
  await refused(
    third,
    '0/3 nodes are available: 3 node(s) exceed max volume count. no new claims to deallocate, preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.',
  )
  // A volume that is there already counts once.
  await scheduled(await pod([names[0] as string]))
  await cluster.run(client.resource(storage.volumeattachments).delete('a'))
  expect(await scheduled(third)).toBe(nodeNames[0])
})

test('zones of volumes are zones of their Pods', async () => {
  const zone = 'topology.kubernetes.io/zone'
  for (const [i, n] of nodeNames.entries()) await cluster.run(nodes().patch(n, 'merge', { metadata: { labels: { [zone]: `z${i}` } } }))
  const className = named('by-hand')
  await volume(className, {}, { [zone]: 'z1__z2' })
  await clock.advance(50)
  const name = await claim(className)
  await cluster.until(async () => (await claims().get(name)).status?.phase === 'Bound')
  const user = await pod([name], { nodeSelector: { 'kubernetes.io/hostname': nodeNames[0] as string } })
  await refused(user, `0/3 nodes are available: 1 node(s) had no available volume zone, 2 node(s) didn't match Pod's node affinity/selector. ${NOT_HELPFUL}`)
  await cluster.run(nodes().patch(nodeNames[0] as string, 'merge', { metadata: { labels: { [zone]: 'z2' } } }))
  expect(await scheduled(user)).toBe(nodeNames[0])
  expect(await scheduled(await pod([name]))).not.toBe('')
})
