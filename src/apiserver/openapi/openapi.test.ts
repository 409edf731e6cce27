import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ResourceInfo, scheme } from '../../api/scheme.ts'
import { goldenFolder } from '../../testing/golden.ts'
import { OpenAPIDocuments } from './documents.ts'
import { swaggerText } from './v2.ts'
import { discoveryDocument, groupVersionDocument, groupVersionText } from './v3.ts'

const golden = goldenFolder()

type Json = Record<string, unknown>

/** Without descriptions, references unwrapped, lists of required fields sorted: what is left is compared. */
function normal(value: unknown, names = false): unknown {
  if (Array.isArray(value)) return value.map((v) => normal(v))
  if (typeof value !== 'object' || value === null) return value
  const o = value as Json
  const all = o.allOf as unknown[] | undefined
  if (all?.length === 1 && Object.keys(o).every((k) => k === 'allOf' || k === 'description')) return normal(all[0])
  const out: Json = {}
  for (const k of Object.keys(o).sort()) {
    if (!names && k === 'description' && typeof o[k] === 'string') continue
    out[k] = k === 'required' && Array.isArray(o[k]) ? [...o[k]].sort() : normal(o[k], k === 'properties')
  }
  return out
}

interface Tally {
  same: number
  other: string[]
}

function compare(want: Json, got: Json, where: string, tally: Tally): void {
  for (const k of new Set([...Object.keys(want), ...Object.keys(got)])) {
    if (JSON.stringify(normal(want[k])) === JSON.stringify(normal(got[k]))) tally.same++
    else tally.other.push(`${where} ${k}`)
  }
}

const read = (file: string) =>
  JSON.parse(readFileSync(join(golden, file), 'utf8')) as { paths: Json; components: { schemas: Json }; definitions: Json; parameters: Json }

describe.skipIf(!golden)('OpenAPI 3 with every version on', () => {
  it('agrees with the recorded documents but for an alias of one alpha type', { timeout: 60_000 }, () => {
    const paths: Tally = { same: 0, other: [] }
    const schemas: Tally = { same: 0, other: [] }
    for (const file of readdirSync(join(golden, 'openapi/v3'))) {
      const m = /^(?:api__(v1)|apis__(.+)__(v[^_]+))_openapi\.json$/.exec(file)
      if (!m) continue
      const gv = { group: m[2] ?? '', version: (m[1] ?? m[3]) as string }
      const want = read(`openapi/v3/${file}`)
      const got = groupVersionDocument(scheme, gv, scheme.servedIn(gv, { 'api/all': true }), {
        version: 'unversioned',
        cbor: true,
        enums: false,
      }) as unknown as typeof want
      compare(want.paths, got.paths, file, paths)
      compare(want.components.schemas, got.components.schemas, file, schemas)
    }
    expect(paths).toEqual({ same: 533, other: [] })
    expect(schemas.other.filter((o) => !/admissionregistration.*(MatchCondition|MutatingAdmissionPolicySpec)$/.test(o))).toEqual([])
    expect(schemas.same).toBeGreaterThan(1640)
  })

  it('describes discovery as recorded', () => {
    for (const [file, group] of [
      ['api_openapi', ''],
      ['apis_openapi', undefined],
      ['apis__apps_openapi', 'apps'],
      ['apis__rbac.authorization.k8s.io_openapi', 'rbac.authorization.k8s.io'],
    ] as const) {
      expect(normal(discoveryDocument(scheme, group, { version: 'unversioned' }))).toEqual(normal(read(`openapi/v3/${file}.json`)))
    }
  })
})

describe.skipIf(!golden)('OpenAPI 3 of a default server', () => {
  it('is as recorded', () => {
    for (const c of JSON.parse(readFileSync(join(golden, 'recorded/machinery-discovery.json'), 'utf8')) as {
      name: string
      steps: { do: string; want: { body: Json } }[]
    }[]) {
      const gv = /^GET \/openapi\/v3\/apis\/([^/]+)\/(v1)$/.exec(c.steps[0]?.do ?? '')
      if (!gv) continue
      const got = groupVersionDocument(scheme, { group: gv[1] as string, version: 'v1' }, scheme.servedIn({ group: gv[1] as string, version: 'v1' }), {
        version: '1.36',
      })
      expect(normal(got), c.name).toEqual(normal(c.steps[0]?.want.body))
    }
  })
})

describe('OpenAPIDocuments', () => {
  const documents = new OpenAPIDocuments({ scheme, resources: scheme.served(), version: '1.36' })

  it('lists every document with a hash that its text does not have to be made for', async () => {
    const { paths } = documents.index() as { paths: Record<string, { serverRelativeURL: string }> }
    expect(paths['apis/apps/v1']?.serverRelativeURL).toMatch(/^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]{128}$/)
    for (const p of ['api', 'api/v1', 'apis', 'apis/apps', 'version', 'openid/v1/jwks', '.well-known/openid-configuration']) expect(paths).toHaveProperty([p])
    expect(documents.get('apis/apps/v9')).toBeUndefined()
    expect(JSON.parse((await documents.get('version')?.text()) as string).paths).toHaveProperty(['/version/'])
  })

  it('makes the same text in slices as in one piece', async () => {
    const gv = { group: 'apps', version: 'v1' }
    const text = await groupVersionText(scheme, gv, scheme.servedIn(gv), { version: '1.36' })
    expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(groupVersionDocument(scheme, gv, scheme.servedIn(gv), { version: '1.36' }))))
    expect(await documents.get('apis/apps/v1')?.text()).toBe(text)
  })
})

describe('custom resources', () => {
  it('are documented while they are served', async () => {
    const documents = new OpenAPIDocuments({ scheme, resources: scheme.served(), version: '1.36' })
    const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
    const gadget: ResourceInfo = {
      group: 'gear.example.com',
      version: 'v1',
      kind: 'Gadget',
      resource: 'gadgets',
      singular: 'gadget',
      namespaced: true,
      verbs,
      shortNames: [],
      categories: [],
      subresources: [
        { name: 'status', kind: 'Gadget', group: 'gear.example.com', version: 'v1', verbs },
        { name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs },
      ],
      isDefault: true,
      schema: () => scheme.types.structType('k8s.io/api/core/v1.ConfigMap'),
      openAPISchema: () => ({ type: 'object', properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } } }),
    }
    documents.setCustom([gadget])
    const document = JSON.parse((await documents.get('apis/gear.example.com/v1')?.text()) as string) as {
      paths: Record<string, Json>
      components: { schemas: Record<string, Json> }
    }
    const type = document.components.schemas['com.example.gear.v1.Gadget'] as { properties: Json }
    expect(type).toMatchObject({ 'x-kubernetes-group-version-kind': [{ group: 'gear.example.com', kind: 'Gadget', version: 'v1' }] })
    expect(type.properties).toMatchObject({ spec: { properties: { size: { type: 'integer' } } }, metadata: {}, kind: {}, apiVersion: {} })
    const item = document.paths['/apis/gear.example.com/v1/namespaces/{namespace}/gadgets/{name}'] as { patch: { parameters: { name: string }[] } }
    expect(item.patch.parameters.map((p) => p.name)).toContain('fieldValidation')
    expect(Object.keys(document.paths)).toContain('/apis/gear.example.com/v1/namespaces/{namespace}/gadgets/{name}/scale')
    const text = JSON.stringify(document)
    for (const [, name] of text.matchAll(/#\/components\/schemas\/([^"]+)"/g)) expect(document.components.schemas, name).toHaveProperty([name as string])
    const hash = documents.get('apis/gear.example.com/v1')?.hash
    documents.setCustom([{ ...gadget, openAPISchema: () => ({ type: 'object' }) }])
    expect(documents.get('apis/gear.example.com/v1')?.hash).not.toBe(hash)
    documents.setCustom([])
    expect(documents.get('apis/gear.example.com/v1')).toBeUndefined()
  })
})

describe.skipIf(!golden)('OpenAPI 2', () => {
  it('agrees with the recorded document where it describes the same', { timeout: 60_000 }, async () => {
    const want = read('openapi/v2-swagger.json')
    const served = scheme.served({ 'api/all': true })
    const versions = scheme.groups.flatMap((g) =>
      g.versions.map((v) => ({ group: g.group, version: v.version, resources: served.filter((r) => r.group === g.group && r.version === v.version) })),
    )
    const got = JSON.parse(await swaggerText(scheme, versions, { version: 'unversioned', cbor: true, enums: false })) as typeof want
    const resolve = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(resolve)
      if (typeof value !== 'object' || value === null) return value
      const ref = (value as { $ref?: string }).$ref
      if (ref?.startsWith('#/parameters/')) return want.parameters[ref.slice(13)]
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, resolve(v)]))
    }
    const paths: Tally = { same: 0, other: [] }
    const definitions: Tally = { same: 0, other: [] }
    compare(resolve(want.paths) as Json, got.paths, 'path', paths)
    compare(want.definitions, got.definitions, 'type', definitions)
    expect(paths.other.filter((p) => !/\/(logs|openid|\.well-known)/.test(p))).toEqual([])
    // Types that every group version knows list legacy versions too, of which the facts hold none.
    expect(definitions.other.filter((t) => !/meta\.v1\.(DeleteOptions|WatchEvent)$|MatchCondition$|MutatingAdmissionPolicySpec$/.test(t))).toEqual([])
  })
})
