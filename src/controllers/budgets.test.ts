import { describe, expect, it } from 'vitest'
import { resources } from '../api/index.ts'
import { controllerHarness } from '../testing/controller-harness.ts'
import { DisruptionController } from './disruption/controller.ts'
import { ResourceQuotaController } from './resourcequota/controller.ts'
import { VolumeBinder } from './volumebinder/controller.ts'

const { persistentvolumeclaims, persistentvolumes, pods, resourcequotas, services } = resources.corev1

describe('quotas', () => {
  it('count what is there and follow what goes', async () => {
    const h = controllerHarness()
    const pod = (name: string) =>
      h.create(pods, { metadata: { name }, spec: { containers: [{ name: 'a', image: 'x', resources: { requests: { cpu: '500m' } } }] } })
    await pod('a')
    await h.create(resourcequotas, { metadata: { name: 'q' }, spec: { hard: { pods: '5', 'requests.cpu': '2', services: '3', 'count/configmaps': '9' } } })
    await h.start(new ResourceQuotaController(h.context))
    await pod('b')
    await h.create(services, { metadata: { name: 's' }, spec: { ports: [{ port: 1 }] } })
    await h.create(resources.corev1.configmaps, { metadata: { name: 'm' } })
    await h.clock.advance(1000)
    const used = async () => (await h.client.resource(resourcequotas).namespace('default').get('q')).status.used
    expect(await used()).toEqual({ pods: '2', 'requests.cpu': '1', services: '1', 'count/configmaps': '1' })
    await h.client.resource(pods).namespace('default').delete('a', { gracePeriodSeconds: 0 })
    await h.clock.advance(1000)
    expect(await used()).toMatchObject({ pods: '1', 'requests.cpu': '500m' })
    expect(await h.stop()).toEqual({ timers: 0, watches: 0 })
  })
})

describe('disruption budgets', () => {
  it('say how many Pods may go', async () => {
    const h = controllerHarness()
    const budgets = resources.policyv1.poddisruptionbudgets
    const set = await h.create(resources.appsv1.replicasets, { metadata: { name: 'rs' }, spec: { replicas: 3, selector: {}, template: {} } })
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: set.metadata.uid, controller: true }
    for (const name of ['a', 'b', 'c']) {
      await h.create(pods, {
        metadata: { name, labels: { app: 'x' }, ownerReferences: [owner] },
        spec: { containers: [] },
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: name === 'c' ? 'False' : 'True' }] },
      })
    }
    await h.create(budgets, { metadata: { name: 'max' }, spec: { maxUnavailable: '50%', selector: { matchLabels: { app: 'x' } } } })
    await h.create(budgets, { metadata: { name: 'min' }, spec: { minAvailable: 2, selector: { matchLabels: { app: 'x' } } } })
    await h.start(new DisruptionController(h.context))
    await h.clock.advance(1000)
    const status = async (name: string) => (await h.client.resource(budgets).namespace('default').get(name)).status
    expect(await status('max')).toMatchObject({
      expectedPods: 3,
      desiredHealthy: 1,
      currentHealthy: 2,
      disruptionsAllowed: 1,
      observedGeneration: 1,
      conditions: [{ type: 'DisruptionAllowed', status: 'True', reason: 'SufficientPods', message: '' }],
    })
    expect(await status('min')).toMatchObject({
      expectedPods: 3,
      desiredHealthy: 2,
      currentHealthy: 2,
      disruptionsAllowed: 0,
      conditions: [{ status: 'False', reason: 'InsufficientPods' }],
    })
    await h.stop()
  })
})

describe('volume binder', () => {
  it('binds the smallest fitting volume and releases it with its claim', async () => {
    const h = controllerHarness()
    const volume = (name: string, storage: string) =>
      h.create(persistentvolumes, {
        metadata: { name },
        spec: {
          capacity: { storage },
          accessModes: ['ReadWriteOnce'],
          persistentVolumeReclaimPolicy: 'Retain',
          storageClassName: 'cls',
          hostPath: { path: '/x' },
        },
      })
    await volume('big', '10Gi')
    await volume('mid', '3Gi')
    await volume('tiny', '500Mi')
    await h.start(new VolumeBinder(h.context))
    await h.clock.advance(1000)
    const claims = h.client.resource(persistentvolumeclaims).namespace('default')
    await h.create(persistentvolumeclaims, {
      metadata: { name: 'claim' },
      spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'cls', resources: { requests: { storage: '1Gi' } } },
    })
    await h.clock.advance(1000)
    const claim = await claims.get('claim')
    expect(claim.spec.volumeName).toBe('mid')
    expect(claim.status).toEqual({ phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '3Gi' } })
    expect(claim.metadata.annotations).toEqual({ 'pv.kubernetes.io/bind-completed': 'yes', 'pv.kubernetes.io/bound-by-controller': 'yes' })
    const volumes = async () => Object.fromEntries((await h.list(persistentvolumes)).map((v) => [v.metadata.name, v.status?.phase]))
    expect(await volumes()).toEqual({ big: 'Available', mid: 'Bound', tiny: 'Available' })
    await claims.delete('claim')
    await h.clock.advance(1000)
    expect(await volumes()).toMatchObject({ mid: 'Released' })
    await h.stop()
  })

  it('says why it waits', async () => {
    const h = controllerHarness()
    const claim = (name: string, storageClassName: string) =>
      h.create(persistentvolumeclaims, {
        metadata: { name },
        spec: { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage: '1Gi' } } },
      })
    await h.create(resources.storagev1.storageclasses, {
      metadata: { name: 'late' },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'WaitForFirstConsumer',
    })
    await h.create(resources.storagev1.storageclasses, { metadata: { name: 'ext' }, provisioner: 'example.com/x', volumeBindingMode: 'Immediate' })
    await h.start(new VolumeBinder(h.context))
    for (const [name, cls] of [
      ['plain', ''],
      ['none', 'absent'],
      ['wait', 'late'],
      ['out', 'ext'],
    ] as const)
      await claim(name, cls)
    await h.clock.advance(500)
    const events = (await h.events('persistentvolume-controller')).map((e) => e.replace(/ \(\d+\)$/, ''))
    expect(events).toEqual([
      'Normal FailedBinding no persistent volumes available for this claim and no storage class is set',
      'Warning ProvisioningFailed storageclass.storage.k8s.io "absent" not found',
      'Normal WaitForFirstConsumer waiting for first consumer to be created before binding',
      expect.stringContaining("Normal ExternalProvisioning Waiting for a volume to be created either by the external provisioner 'example.com/x'"),
    ])
    await h.stop()
  })
})
