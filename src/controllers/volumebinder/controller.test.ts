import { describe, expect, it } from 'vitest'
import { resources } from '../../api/index.ts'
import { controllerHarness } from '../../testing/controller-harness.ts'
import { VolumeBinder } from './controller.ts'

const { persistentvolumeclaims, persistentvolumes, pods } = resources.corev1
const { storageclasses } = resources.storagev1

async function running() {
  const h = controllerHarness()
  await h.start(new VolumeBinder(h.context))
  return {
    ...h,
    storageClass: (name: string, provisioner: string, volumeBindingMode = 'Immediate') =>
      h.create(storageclasses, { metadata: { name }, provisioner, volumeBindingMode }),
    claim: (name: string, storageClassName: string, spec: object = {}) =>
      h.create(persistentvolumeclaims, {
        metadata: { name },
        spec: { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage: '1Gi' } }, ...spec },
        status: { phase: 'Pending' },
      }),
    volume: (name: string, storageClassName: string, spec: object = {}) =>
      h.create(persistentvolumes, { metadata: { name }, spec: { capacity: { storage: '2Gi' }, accessModes: ['ReadWriteOnce'], storageClassName, ...spec } }),
    told: async () => (await h.events('persistentvolume-controller')).map((e) => e.replace(/ \(\d+\)$/, '')),
  }
}

describe('the binder', () => {
  it('knows no built-in provisioners but those that CSI drivers took over', async () => {
    const h = await running()
    await h.storageClass('by-hand', 'kubernetes.io/no-provisioner')
    await h.storageClass('old', 'kubernetes.io/aws-ebs')
    await h.claim('a', 'by-hand')
    await h.claim('b', 'old')
    await h.clock.advance(2000)
    const b = (await h.list(persistentvolumeclaims)).find((c) => c.metadata.name === 'b')
    expect(b?.metadata.annotations?.['volume.kubernetes.io/storage-provisioner']).toBe('ebs.csi.aws.com')
    expect((await h.told())[0]).toBe('Warning ProvisioningFailed no volume plugin matched name: kubernetes.io/no-provisioner')
    expect(await h.stop()).toEqual({ timers: 0, watches: 0 })
  })

  it('leaves claims that wait for a consumer alone until the scheduler names a volume', async () => {
    const h = await running()
    await h.storageClass('late', 'kubernetes.io/no-provisioner', 'WaitForFirstConsumer')
    await h.volume('v', 'late')
    const claim = await h.claim('user-data', 'late')
    await h.clock.advance(2000)
    await h.create(pods, {
      metadata: { name: 'user' },
      spec: { containers: [], volumes: [{ name: 'data', ephemeral: { volumeClaimTemplate: { spec: {} } } }] },
    })
    await h.clock.advance(20_000)
    expect(await h.told()).toEqual([
      'Normal WaitForFirstConsumer waiting for first consumer to be created before binding',
      'Normal WaitForPodScheduled waiting for pod user to be scheduled',
    ])
    const volumes = h.client.resource(persistentvolumes)
    const claimRef = { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace: 'default', name: 'user-data', uid: claim.metadata.uid }
    await volumes.patch('v', 'merge', { metadata: { annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } }, spec: { claimRef } })
    await h.clock.advance(2000)
    const [bound] = await h.list(persistentvolumeclaims)
    expect(bound?.spec.volumeName).toBe('v')
    expect(bound?.status).toMatchObject({ phase: 'Bound', capacity: { storage: '2Gi' } })
    expect(bound?.metadata.annotations).toMatchObject({ 'pv.kubernetes.io/bind-completed': 'yes', 'pv.kubernetes.io/bound-by-controller': 'yes' })
    expect((await h.list(persistentvolumes))[0]?.status?.phase).toBe('Bound')
    await h.stop()
  })

  it('tells both that their modes do not match', async () => {
    const h = await running()
    const claim = await h.claim('c', 'x', { volumeMode: 'Block' })
    await h.volume('v', 'x', { claimRef: { namespace: 'default', name: 'c', uid: claim.metadata.uid } })
    await h.clock.advance(2000)
    const told = await h.told()
    expect(told).toContain('Warning VolumeMismatch Cannot bind PersistentVolume to requested PersistentVolumeClaim "c" due to incompatible volumeMode.')
    expect(told).toContain('Warning VolumeMismatch Cannot bind PersistentVolume "v" to requested PersistentVolumeClaim due to incompatible volumeMode.')
    await h.stop()
  })
})
