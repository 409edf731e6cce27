import { describe, expect, it } from 'vitest'
import { scheme } from './scheme.ts'

describe('scheme', () => {
  it('resolves the kind of every resource, its list and its subresources', () => {
    expect(scheme.resources.length).toBe(95)
    for (const r of scheme.resources) {
      expect(r.schema().name.endsWith(`.${r.kind}`)).toBe(true)
      if (r.verbs.includes('list')) expect(scheme.schema({ ...r, kind: `${r.kind}List` }), r.kind).toBeDefined()
      for (const s of r.subresources) expect(scheme.schema(s), `${r.resource}/${s.name}`).toBeDefined()
    }
  })

  it('serves stable versions unless told otherwise', () => {
    expect(scheme.served().every((r) => r.isDefault)).toBe(true)
    expect(scheme.served({ 'api/all': true }).length).toBe(95)
    const beta = scheme.served({ 'api/beta': true })
    expect(beta.some((r) => r.version === 'v1beta1')).toBe(true)
    expect(beta.some((r) => r.version.includes('alpha'))).toBe(false)
    expect(scheme.served({ 'apps/v1': false }).some((r) => r.group === 'apps')).toBe(false)
    expect(
      scheme
        .served({ 'batch/v1/cronjobs': false })
        .filter((r) => r.group === 'batch')
        .map((r) => r.resource),
    ).toEqual(['jobs'])
  })

  it('knows kinds without a resource by group, version and kind', () => {
    const name = (group: string, version: string, kind: string) => scheme.typeName({ group, version, kind })
    expect(name('', 'v1', 'Status')).toBe('k8s.io/apimachinery/pkg/apis/meta/v1.Status')
    expect(name('apps', 'v1', 'DeleteOptions')).toBe('k8s.io/apimachinery/pkg/apis/meta/v1.DeleteOptions')
    expect(name('meta.k8s.io', 'v1', 'Table')).toBe('k8s.io/apimachinery/pkg/apis/meta/v1.Table')
    expect(name('apps', 'v1', 'Status')).toBeUndefined()
    expect(name('', 'v1', 'PodSpec')).toBeUndefined()
    expect(name('', 'v1', 'ResourceList')).toBeUndefined()
    expect(name('', 'v1', '__proto__')).toBeUndefined()
    expect(name('', 'v9', 'Pod')).toBeUndefined()
  })

  it('finds a resource by name and by kind', () => {
    const pods = scheme.forResource({ group: '', version: 'v1', resource: 'pods' })
    expect(pods?.etcdPrefix).toBe('/registry/pods')
    expect(pods?.subresources.find((s) => s.name === 'eviction')).toMatchObject({ group: 'policy', version: 'v1', kind: 'Eviction' })
    expect(scheme.forKind({ group: 'apps', version: 'v1', kind: 'Deployment' })?.resource).toBe('deployments')
  })
})
