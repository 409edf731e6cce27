import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { scheme } from '../../api/scheme.ts'
import { apiVersionOf } from '../../apimachinery/object.ts'
import { goldenFolder } from '../../testing/golden.ts'
import { apiGroup, apiGroupDiscoveryList, apiGroupList, apiResourceList, apiVersions } from './documents.ts'
import { builtinVersions, compareVersions, orderGroups, type ServedVersion } from './served.ts'

const golden = goldenFolder()
const read = (file: string) => JSON.parse(readFileSync(join(golden, file), 'utf8'))

describe.skipIf(!golden)('discovery with every version on', () => {
  const versions = builtinVersions(scheme, { 'api/all': true })
  const groups = orderGroups(versions)

  it('lists groups, versions and resources as recorded', () => {
    expect(apiGroupList(groups)).toEqual(read('discovery-all/apis.json'))
    for (const g of groups) if (g.group !== '') expect(apiGroup(g)).toEqual(read(`discovery-all/apis__${g.group}.json`))
    for (const v of versions) {
      const file = v.group === '' ? 'api__v1' : `apis__${v.group}__${v.version}`
      expect(apiResourceList(v)).toEqual(read(`discovery-all/${file}.json`))
    }
    expect(versions.length).toBe(36)
  })

  it('gives the aggregated form as recorded', () => {
    expect(apiGroupDiscoveryList(groups, false)).toEqual({ metadata: {}, ...read('discovery-all/aggregated_v2.json') })
  })
})

describe.skipIf(!golden)('discovery of a default server', () => {
  it('is as recorded', () => {
    const groups = orderGroups(builtinVersions(scheme))
    const serve = (url: string, aggregated: boolean): unknown => {
      if (url === '/api') return aggregated ? apiGroupDiscoveryList(groups, true) : apiVersions('x')
      if (url === '/apis') return aggregated ? apiGroupDiscoveryList(groups, false) : apiGroupList(groups)
      const [, , group, version] = url.startsWith('/api/') ? ['', 'api', '', url.slice(5)] : url.split('/')
      const g = groups.find((x) => x.group === group)
      if (!g) return undefined
      if (version === undefined) return apiGroup(g)
      const v = g.versions.find((x) => x.version === version)
      return v && apiResourceList(v)
    }
    let compared = 0
    for (const c of read('recorded/machinery-discovery.json') as {
      steps: { do: string; headers?: { accept?: string }; pick?: string[]; want: { status: number; body?: Record<string, unknown> } }[]
    }[]) {
      for (const s of c.steps) {
        const url = s.do.replace('GET ', '')
        if (s.want.status !== 200 || !/^\/apis?(\/|$)/.test(url)) continue
        const aggregated = s.headers?.accept?.includes('as=APIGroupDiscoveryList') === true
        if (aggregated && !s.headers?.accept?.includes('v=v2;')) continue
        const document = serve(url, aggregated) as Record<string, unknown>
        compared++
        if (!s.pick) {
          const scrub = (d: Record<string, unknown>) => ({ ...d, serverAddressByClientCIDRs: undefined })
          expect(scrub(document), s.do).toEqual(scrub(s.want.body as Record<string, unknown>))
        } else for (const p of s.pick) if (!p.includes('*')) expect(pointer(document, p), `${s.do} ${p}`).toEqual(s.want.body?.[p] ?? undefined)
      }
    }
    expect(compared).toBeGreaterThan(20)
  })
})

function pointer(value: unknown, path: string): unknown {
  return path
    .split('/')
    .slice(1)
    .reduce<unknown>((v, k) => (v as Record<string, unknown> | undefined)?.[k.replaceAll('~1', '/')], value)
}

describe('order', () => {
  it('puts custom groups after built-in ones, by name', () => {
    const custom = (group: string, version: string): ServedVersion => ({
      group,
      version,
      groupPriority: 1000,
      versionPriority: 100,
      resources: [],
      builtin: false,
    })
    const groups = orderGroups([custom('b.io', 'v1beta1'), custom('b.io', 'v1'), custom('a.io', 'v1'), ...builtinVersions(scheme)])
    expect(groups.slice(-2).map((g) => g.versions.map(apiVersionOf))).toEqual([['a.io/v1'], ['b.io/v1', 'b.io/v1beta1']])
  })

  it('compares version names', () => {
    const sorted = ['v1alpha1', 'foo10', 'v2', 'v1', 'v1beta2', 'v11alpha2', 'foo1', 'v10', 'v1beta1'].sort((a, b) => compareVersions(b, a))
    expect(sorted).toEqual(['v10', 'v2', 'v1', 'v1beta2', 'v1beta1', 'v11alpha2', 'v1alpha1', 'foo1', 'foo10'])
  })
})
