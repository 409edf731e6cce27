import { describe, expect, it } from 'vitest'
import type { PersistentVolume } from '../api/core/v1/types.generated.ts'
import type { CSINode } from '../api/storage/v1/types.generated.ts'
import { isMigratedOn, labelValues, MIGRATED_PLUGINS, migratedDriver, migratedSource, volumeFitsNode } from './csi-migration.ts'

const handedOver = { metadata: { annotations: { [MIGRATED_PLUGINS]: 'kubernetes.io/gce-pd,kubernetes.io/aws-ebs' } }, spec: { drivers: [] } } as CSINode
const ZONE = 'topology.kubernetes.io/zone'
const EBS_ZONE = 'topology.ebs.csi.aws.com/zone'

const ebs = (extra: object = {}, labels?: Record<string, string>) =>
  ({ metadata: { name: 'v', ...(labels ? { labels } : {}) }, spec: { awsElasticBlockStore: { volumeID: 'vol-1' }, ...extra } }) as PersistentVolume
const inZone = (key: string, ...values: string[]) => ({
  nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values }] }] } },
})

describe('volumes of types once built in', () => {
  it('are those of a driver where the node has handed them over', () => {
    expect(migratedDriver('kubernetes.io/aws-ebs')).toBe('ebs.csi.aws.com')
    expect(migratedDriver('kubernetes.io/no-provisioner')).toBeUndefined()
    expect([isMigratedOn(handedOver, 'kubernetes.io/aws-ebs'), isMigratedOn(handedOver, 'kubernetes.io/cinder'), isMigratedOn(undefined, 'x')]).toEqual([
      true,
      false,
      false,
    ])
    expect(migratedSource(ebs().spec, undefined)).toBeUndefined()
    expect(migratedSource({ cinder: { volumeID: 'c' } }, handedOver)).toBeUndefined()
    expect(migratedSource(ebs().spec, handedOver)).toEqual({ driver: 'ebs.csi.aws.com', handle: 'vol-1' })
    expect(migratedSource({ awsElasticBlockStore: { volumeID: 'aws://us-east-1a/vol-1' } }, handedOver)?.handle).toBe('vol-1')
  })

  it("go by the driver's zones there, and by the node's own labels elsewhere", () => {
    const volume = ebs(inZone(ZONE, 'a'))
    expect(volumeFitsNode(volume, { [ZONE]: 'a' }, undefined)).toBe(true)
    expect(volumeFitsNode(volume, { [ZONE]: 'a' }, handedOver)).toBe(false)
    expect(volumeFitsNode(volume, { [EBS_ZONE]: 'a' }, handedOver)).toBe(true)
    expect(volumeFitsNode(ebs({}, { [ZONE]: 'a__b' }), { [EBS_ZONE]: 'c' }, handedOver)).toBe(false)
    expect(volumeFitsNode(ebs({}, { [ZONE]: 'a__b' }), { [EBS_ZONE]: 'b' }, handedOver)).toBe(true)
    expect(volumeFitsNode(ebs({}, { [ZONE]: 'a' }), undefined, undefined)).toBe(true)
    const both = ebs(inZone('disk', 'ssd'), { [ZONE]: 'a' })
    expect(volumeFitsNode(both, { disk: 'ssd' }, handedOver)).toBe(false)
    expect(volumeFitsNode(both, { disk: 'ssd', [EBS_ZONE]: 'a' }, handedOver)).toBe(true)
  })

  it('name several zones in one label, none of them empty', () => {
    expect([...(labelValues('a__b') ?? [])]).toEqual(['a', 'b'])
    expect(labelValues('a__')).toBeUndefined()
  })
})
