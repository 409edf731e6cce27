import { describe, expect, it } from 'vitest'
import type { Pod, PodSpec } from '../../../../api/core/v1/types.generated.ts'
import { podStrategy } from '../strategy.ts'
import { podSpecDifference, specDifference } from './spec-difference.ts'

function specOf(spec: Partial<PodSpec>): PodSpec {
  const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'app', image: 'i:1', resources: {} }], ...spec }, status: {} } as unknown as Pod
  podStrategy.defaults?.(pod)
  return pod.spec as PodSpec
}

describe('differences of specs', () => {
  it('stand in the order of the internal type, at its lines', () => {
    const before = specOf({ automountServiceAccountToken: false })
    expect(podSpecDifference({ ...before, serviceAccountName: 'default' }, before)).toBe(
      [
        '@@ -40,7 +40,7 @@',
        '  "ActiveDeadlineSeconds": null,',
        '  "DNSPolicy": "ClusterFirst",',
        '  "NodeSelector": null,',
        '- "ServiceAccountName": "default",',
        '+ "ServiceAccountName": "",',
        '  "AutomountServiceAccountToken": false,',
        '  "NodeName": "",',
        '  "SecurityContext": {',
        '',
      ].join('\n'),
    )
  })

  it('have a hunk each when they are far apart', () => {
    const [a, b] = [specOf({ serviceAccountName: 'default' }), specOf({})]
    const [container] = b.containers
    if (container) container.imagePullPolicy = 'Always'
    expect(podSpecDifference(a, b).match(/^@@.*@@$/gm)).toEqual(['@@ -27,7 +27,7 @@', '@@ -40,7 +40,7 @@'])
  })

  it('leave the selector of a claim as it is in JSON', () => {
    expect(specDifference('PersistentVolumeClaimSpec', {}, { selector: { matchLabels: { a: 'b' } } })).toContain('+  "matchLabels": {\n+   "a": "b"\n+  }')
  })

  it('match the middle of what was replaced', () => {
    const text = specDifference('PersistentVolumeSource', { hostPath: { path: '/data', type: '' } }, { nfs: { server: 'a', path: '/b' } })
    expect(text).toContain('@@ -1,12 +1,13 @@')
    expect(text).toContain('+  "ReadOnly": false\n  },\n- "Glusterfs": null,\n- "NFS": null,\n  "RBD": null,')
  })
})
