import { afterEach, expect, test } from 'vitest'
import { resources } from '../../src/api/index.ts'
import { type KubeletHarness, kubeletHarness } from './kubelet-harness.ts'

let h: KubeletHarness
afterEach(() => h?.stop())

test('the node registers, is ready and holds its lease', async () => {
  h = await kubeletHarness()
  const node = await h.client.resource(resources.corev1.nodes).get('node1')
  expect(node.status.conditions?.map((c) => `${c.type}=${c.status} ${c.reason}`)).toEqual([
    'MemoryPressure=False KubeletHasSufficientMemory',
    'DiskPressure=False KubeletHasNoDiskPressure',
    'PIDPressure=False KubeletHasSufficientPID',
    'Ready=True KubeletReady',
  ])
  expect(node.status.allocatable).toMatchObject({ cpu: '4', memory: '8092Mi', pods: '110' })
  expect(node.metadata.labels).toMatchObject({ 'kubernetes.io/hostname': 'node1', 'kubernetes.io/os': 'linux' })
  const lease = await h.client.resource(resources.coordinationv1.leases).namespace('kube-node-lease').get('node1')
  expect(lease.spec).toMatchObject({ holderIdentity: 'node1', leaseDurationSeconds: 40 })
  expect(lease.metadata.ownerReferences?.[0]).toEqual({ apiVersion: 'v1', kind: 'Node', name: 'node1', uid: node.metadata.uid })
  const before = lease.spec.renewTime
  await h.clock.advance(11_000)
  expect((await h.client.resource(resources.coordinationv1.leases).namespace('kube-node-lease').get('node1')).spec.renewTime).not.toBe(before)
})

test('a Pod runs: status, conditions and events as upstream', async () => {
  h = await kubeletHarness()
  await h.pod({})
  const pod = await h.until('p', (p) => p.status.phase === 'Running')
  expect(pod.status.conditions?.map((c) => `${c.type}=${c.status}`)).toEqual([
    'PodReadyToStartContainers=True',
    'Initialized=True',
    'Ready=True',
    'ContainersReady=True',
    'PodScheduled=True',
  ])
  expect(pod.status.podIP).toMatch(/^10\.244\.0\.\d+$/)
  expect(pod.status.hostIP).toBe('192.0.2.1')
  expect(pod.status.qosClass).toBe('BestEffort')
  expect(pod.status.containerStatuses?.[0]).toMatchObject({
    name: 'app',
    ready: true,
    started: true,
    restartCount: 0,
    image: 'docker.io/library/nginx:1.27',
    state: { running: {} },
    lastState: {},
  })
  expect(pod.status.containerStatuses?.[0]?.containerID).toMatch(/^simulated:\/\/[0-9a-f]{64}$/)
  expect(pod.status.containerStatuses?.[0]?.imageID).toMatch(/^docker\.io\/library\/nginx@sha256:/)
  const events = await h.events('p')
  expect(events.map((e) => e.replace(/in .*\(.* including waiting\)/, 'in X'))).toEqual([
    'Normal Pulling Pulling image "nginx:1.27"',
    'Normal Pulled Successfully pulled image "nginx:1.27" in X. Image size: 72319182 bytes.',
    'Normal Created Container created',
    'Normal Started Container started',
  ])
})

test('a deleted Pod ends within its grace and goes from the API', async () => {
  h = await kubeletHarness()
  await h.pod({})
  await h.until('p', (p) => p.status.phase === 'Running')
  await h.client.resource(resources.corev1.pods).namespace('default').delete('p')
  await h.clock.settle()
  await h.gone('p')
  expect(await h.events('p')).toContain('Normal Killing Stopping container app')
  expect(await h.runtime.listPodSandboxes()).toEqual([])
})

test('a crashing container restarts at once, then backs off', async () => {
  h = await kubeletHarness()
  await h.pod({}, { name: 'p', annotations: { 'k8ts.dev/simulate': 'run=1s exit=3' } })
  const pod = await h.until('p', (p) => p.status.containerStatuses?.[0]?.state.waiting?.reason === 'CrashLoopBackOff')
  const s = pod.status.containerStatuses?.[0]
  expect(s?.restartCount).toBe(1)
  expect(s?.lastState.terminated).toMatchObject({ exitCode: 3, reason: 'Error' })
  expect(s?.state.waiting?.message).toBe(`back-off 10s restarting failed container=app pod=p_default(${pod.metadata.uid})`)
  expect(pod.status.phase).toBe('Running')
  const later = await h.until('p', (p) => /back-off 20s/.test(p.status.containerStatuses?.[0]?.state.waiting?.message ?? ''))
  expect(later.status.containerStatuses?.[0]?.restartCount).toBe(2)
  expect((await h.events('p')).some((e) => e.startsWith(`Warning BackOff Back-off restarting failed container app in pod p_default(`))).toBe(true)
})

test('an image that cannot be pulled: ErrImagePull, then ImagePullBackOff', async () => {
  h = await kubeletHarness()
  await h.pod({ containers: [{ name: 'app', image: 'registry.invalidhost.nosuchtld/x:1', resources: {} }] as never })
  await h.until('p', (p) => p.status.containerStatuses?.[0]?.state.waiting?.reason === 'ErrImagePull')
  const pod = await h.until('p', (p) => p.status.containerStatuses?.[0]?.state.waiting?.reason === 'ImagePullBackOff')
  expect(pod.status.phase).toBe('Pending')
  expect(pod.status.containerStatuses?.[0]?.state.waiting?.message).toMatch(
    /^Back-off pulling image "registry.invalidhost.nosuchtld\/x:1": ErrImagePull: rpc error: code = Unknown desc = /,
  )
  const events = await h.events('p')
  expect(events.map((e) => e.replace(/ x\d+$/, ''))).toEqual(
    expect.arrayContaining(['Warning Failed Error: ErrImagePull', 'Warning Failed Error: ImagePullBackOff']),
  )
})

test('init containers, a sidecar and a Job-like Pod run to the end', async () => {
  h = await kubeletHarness()
  await h.pod({
    restartPolicy: 'Never',
    initContainers: [
      { name: 'one', image: 'busybox:1', command: ['sh', '-c', 'echo hi; sleep 1'], resources: {} },
      { name: 'side', image: 'busybox:1', restartPolicy: 'Always', resources: {} },
    ],
    containers: [{ name: 'app', image: 'busybox:1', command: ['sleep', '5'], resources: {} }],
  } as never)
  const running = await h.until('p', (p) => p.status.containerStatuses?.[0]?.state.running !== undefined)
  expect(running.status.initContainerStatuses?.map((s) => `${s.name} ${s.ready} ${s.started} ${Object.keys(s.state)}`)).toEqual([
    'one true false terminated',
    'side true true running',
  ])
  const done = await h.until('p', (p) => p.status.phase === 'Succeeded')
  expect(done.status.containerStatuses?.[0]?.state.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' })
  expect(done.status.conditions?.map((c) => `${c.type}=${c.status} ${c.reason ?? ''}`)).toEqual([
    'PodReadyToStartContainers=False ',
    'Initialized=True PodCompleted',
    'Ready=False PodCompleted',
    'ContainersReady=False PodCompleted',
    'PodScheduled=True ',
  ])
})

test('probes decide readiness and restarts', async () => {
  h = await kubeletHarness()
  await h.pod(
    {
      containers: [
        {
          name: 'app',
          image: 'nginx:1.27',
          resources: {},
          readinessProbe: { httpGet: { path: '/', port: 80 }, periodSeconds: 5 },
          livenessProbe: { tcpSocket: { port: 80 }, periodSeconds: 5, failureThreshold: 2 },
        },
      ],
    } as never,
    { name: 'p', annotations: { 'k8ts.dev/simulate': 'ready=12s live=40s' } },
  )
  const unready = await h.until('p', (p) => p.status.phase === 'Running')
  expect(unready.status.conditions?.find((c) => c.type === 'Ready')).toMatchObject({
    status: 'False',
    reason: 'ContainersNotReady',
    message: 'containers with unready status: [app]',
  })
  await h.until('p', (p) => p.status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false)
  const again = await h.until('p', (p) => p.status.containerStatuses?.[0]?.restartCount === 1)
  expect(again.status.containerStatuses?.[0]?.lastState.terminated).toBeDefined()
  const events = (await h.events('p')).join('\n')
  expect(events).toMatch(/Warning Unhealthy Readiness probe failed: /)
  expect(events).toMatch(/Warning Unhealthy Liveness probe failed: /)
  expect(events).toMatch(/Normal Killing Container app failed liveness probe, will be restarted/)
})

test('a Pod the node has no room for is refused', async () => {
  h = await kubeletHarness()
  await h.pod({ containers: [{ name: 'app', image: 'nginx:1.27', resources: { requests: { cpu: '5' } } }] })
  const pod = await h.until('p', (p) => p.status.phase === 'Failed')
  expect(pod.status).toMatchObject({
    reason: 'OutOfcpu',
    message: "Pod was rejected: Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000",
  })
})

test('a new kubelet takes over running Pods without a restart', async () => {
  h = await kubeletHarness()
  await h.pod({})
  const before = await h.until('p', (p) => p.status.phase === 'Running')
  await h.restart()
  await h.clock.advance(30_000)
  const after = await h.get('p')
  expect(after?.status.containerStatuses?.[0]).toEqual(before.status.containerStatuses?.[0])
  expect(after?.status.startTime).toBe(before.status.startTime)
})

test('missing ConfigMaps show in the waiting state and in mount events', async () => {
  h = await kubeletHarness()
  await h.pod({ containers: [{ name: 'app', image: 'nginx:1.27', resources: {}, envFrom: [{ configMapRef: { name: 'none' } }] }] as never })
  const pod = await h.until('p', (p) => p.status.containerStatuses?.[0]?.state.waiting?.reason === 'CreateContainerConfigError')
  expect(pod.status.containerStatuses?.[0]?.state.waiting?.message).toBe('configmap "none" not found')
  await h.pod(
    {
      containers: [{ name: 'app', image: 'nginx:1.27', resources: {}, volumeMounts: [{ name: 'v', mountPath: '/v' }] }] as never,
      volumes: [{ name: 'v', configMap: { name: 'none' } }] as never,
    },
    { name: 'q' },
  )
  await h.clock.advance(5000)
  expect((await h.events('q'))[0]).toMatch(/^Warning FailedMount MountVolume.SetUp failed for volume "v" : configmap "none" not found/)
  await h.client
    .resource(resources.corev1.configmaps)
    .namespace('default')
    .create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'none' }, data: { a: 'b' } } as never)
  await h.until('q', (p) => p.status.phase === 'Running')
  await h.until('p', (p) => p.status.phase === 'Running')
})

test('logs come through the API server', async () => {
  h = await kubeletHarness()
  await h.pod({ containers: [{ name: 'app', image: 'busybox:1', command: ['sh', '-c', 'echo one; echo two; sleep 100'], resources: {} }] as never })
  const waiting = await h.client.raw({ path: '/api/v1/namespaces/default/pods/p/log' })
  expect([waiting.status, JSON.parse(await waiting.text()).message]).toEqual([400, 'container "app" in pod "p" is waiting to start: ContainerCreating'])
  await h.until('p', (p) => p.status.phase === 'Running')
  const log = async (query: string) => (await h.client.raw({ path: `/api/v1/namespaces/default/pods/p/log?${query}` })).text()
  expect(await log('tailLines=2')).toBe('one\ntwo\n')
  expect(await log('tailLines=1&timestamps=true')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z two\n$/)
  expect(await log('tailLines=2&limitBytes=5')).toBe('one\nt')
  const previous = await h.client.raw({ path: '/api/v1/namespaces/default/pods/p/log?previous=true' })
  expect(JSON.parse(await previous.text()).message).toBe('previous terminated container "app" in pod "p" not found')
})

test('activeDeadlineSeconds ends a Pod', async () => {
  h = await kubeletHarness()
  await h.pod({ activeDeadlineSeconds: 30 } as never)
  const pod = await h.until('p', (p) => p.status.phase === 'Failed')
  expect(pod.status).toMatchObject({ reason: 'DeadlineExceeded', message: 'Pod was active on the node longer than the specified deadline' })
  expect(await h.events('p')).toContain('Normal DeadlineExceeded Pod was active on the node longer than the specified deadline')
})

test('hundreds of Pods on one node, all simulated', async () => {
  h = await kubeletHarness({ maxPods: 300 })
  for (let i = 0; i < 100; i++) await h.pod({}, { name: `p${i}` })
  await h.clock.advance(120_000)
  const pods = await h.client.resource(resources.corev1.pods).namespace('default').list()
  expect(pods.items.filter((p) => p.status.phase === 'Running')).toHaveLength(100)
  expect(new Set(pods.items.map((p) => p.status.podIP)).size).toBe(100)
})

test('a resize changes a running container without a restart', async () => {
  h = await kubeletHarness()
  await h.pod({ containers: [{ name: 'app', image: 'nginx:1.27', resources: { requests: { cpu: '100m' }, limits: { cpu: '200m' } } }] })
  const before = await h.until('p', (p) => p.status.phase === 'Running')
  await h.client
    .resource(resources.corev1.pods)
    .namespace('default')
    .patch(
      'p',
      'strategic',
      { spec: { containers: [{ name: 'app', resources: { requests: { cpu: '300m' }, limits: { cpu: '600m' } } }] } },
      { subresource: 'resize' },
    )
  const after = await h.until('p', (p) => p.status.containerStatuses?.[0]?.resources?.limits?.['cpu'] === '600m')
  expect(after.status.containerStatuses?.[0]).toMatchObject({
    allocatedResources: { cpu: '300m' },
    restartCount: 0,
    containerID: before.status.containerStatuses?.[0]?.containerID,
  })
  expect((await h.runtime.containerStatus((after.status.containerStatuses?.[0]?.containerID ?? '').replace('simulated://', ''))).resources?.cpuQuota).toBe(
    60_000,
  )
  const events = (await h.events('p')).join('\n')
  expect(events).toMatch(/Normal ResizeStarted Pod resize started: \{"containers":\[\{"name":"app","resources":/)
  expect(events).toMatch(/Normal ResizeCompleted/)
})
