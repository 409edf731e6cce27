import { describe, expect, it } from 'vitest'
import { resources } from '../api/index.ts'
import { controllerHarness, FakeNode } from '../testing/controller-harness.ts'
import { EndpointsController } from './endpoints/controller.ts'
import { EndpointSliceController } from './endpointslice/controller.ts'

const { endpoints, nodes, pods, services } = resources.corev1
const { endpointslices } = resources.discoveryv1

async function running() {
  const h = controllerHarness()
  await h.create(nodes, { metadata: { name: 'node-1', labels: { 'topology.kubernetes.io/zone': 'z1' } } })
  await h.start(new FakeNode(h.context), new EndpointSliceController(h.context), new EndpointsController(h.context))
  const service = (name: string, spec: object) => h.create(services, { metadata: { name }, spec: { clusterIP: '10.96.0.9', ipFamilies: ['IPv4'], ...spec } })
  const pod = (name: string, spec: object = {}) =>
    h.create(pods, {
      metadata: { name, labels: { app: 'web' } },
      spec: { containers: [{ name: 'main', image: 'x', ports: [{ name: 'http', containerPort: 8080 }] }], ...spec },
    })
  const web = { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }] }
  return { ...h, service, pod, web }
}

describe('endpoints and endpoint slices', () => {
  it('follow Pods from nothing to ready to gone', async () => {
    const h = await running()
    await h.service('web', h.web)
    await h.clock.advance(2000)
    const [empty] = await h.list(endpointslices)
    expect(empty).toMatchObject({
      addressType: 'IPv4',
      metadata: {
        generateName: 'web-',
        labels: { 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io', 'kubernetes.io/service-name': 'web' },
      },
    })
    expect(empty?.endpoints ?? null).toBeNull()
    const a = await h.pod('a')
    await h.clock.advance(10_000)
    const [slice, ...others] = await h.list(endpointslices)
    expect(others).toEqual([])
    expect(slice?.metadata.name).toBe(empty?.metadata.name)
    expect(slice?.ports).toEqual([{ name: 'http', protocol: 'TCP', port: 8080 }])
    const targetRef = { kind: 'Pod', namespace: 'default', name: 'a', uid: a.metadata.uid }
    expect(slice?.endpoints).toEqual([
      { addresses: ['10.0.0.9'], conditions: { ready: true, serving: true, terminating: false }, targetRef, nodeName: 'node-1', zone: 'z1' },
    ])
    expect((await h.list(endpoints))[0]).toMatchObject({
      metadata: {
        name: 'web',
        labels: { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' },
        annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': expect.any(String) },
      },
      subsets: [{ addresses: [{ ip: '10.0.0.9', nodeName: 'node-1', targetRef }], ports: [{ name: 'http', port: 8080, protocol: 'TCP' }] }],
    })
    await h.client.resource(pods).namespace('default').delete('a')
    await h.clock.advance(100)
    expect((await h.list(endpointslices))[0]?.endpoints[0]?.conditions).toEqual({ ready: false, serving: true, terminating: true })
    await h.clock.advance(10_000)
    expect((await h.list(endpointslices)).map((s) => s.endpoints ?? null)).toEqual([null])
    expect((await h.list(endpoints))[0]?.subsets).toBeUndefined()
    await h.client.resource(services).namespace('default').delete('web')
    await h.clock.advance(2000)
    expect(await h.list(endpoints)).toEqual([])
    expect(await h.stop()).toEqual({ timers: 0, watches: 0 })
  })

  it('label headless Services and name Pods by hostname', async () => {
    const h = await running()
    await h.service('db', { ...h.web, clusterIP: 'None', publishNotReadyAddresses: true })
    await h.pod('a', { hostname: 'zero', subdomain: 'db' })
    await h.clock.advance(10_000)
    const [slice] = await h.list(endpointslices)
    expect(slice?.metadata.labels?.['service.kubernetes.io/headless']).toBe('')
    expect(slice?.endpoints[0]?.hostname).toBe('zero')
    await h.stop()
  })

  it('spread more than a hundred endpoints over slices', async () => {
    const h = await running()
    await h.service('web', h.web)
    for (let i = 0; i < 130; i++) await h.pod(`p${i}`)
    await h.clock.advance(30_000)
    const sizes = (await h.list(endpointslices)).map((s) => s.endpoints.length).sort((x, y) => x - y)
    expect(sizes).toEqual([30, 100])
    await h.stop()
  })

  it('say that a Pod without a known node is left out', async () => {
    const h = await running()
    await h.service('nonode', h.web)
    await h.create(pods, {
      metadata: { name: 'a', labels: { app: 'web' } },
      spec: { containers: [{ name: 'main', image: 'x' }] },
      status: { phase: 'Running', podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] },
    })
    await h.clock.advance(500)
    expect((await h.events('endpoint-slice-controller'))[0]).toBe(
      'Warning FailedToUpdateEndpointSlices Error updating Endpoint Slices for Service default/nonode: skipping Pod a for Service default/nonode: Node  Not Found',
    )
    await h.stop()
  })
})
