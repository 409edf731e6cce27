import { afterEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../apimachinery/object.ts'
import { seededRandom, VirtualClock } from '../base/index.ts'
import { silentLogger } from '../component-base/index.ts'
import { createMemoryKV } from '../storage/kv/memory/memory-kv.ts'
import type { AdmissionPlugin } from './admission/admission.ts'
import type { Attributes, Authorizer } from './authorization/authorizer.ts'
import { privilegedAuthorizer } from './authorization/union.ts'
import { type ApiServer, type ApiServerOptions, createApiServer } from './server.ts'

const admin = { name: 'admin', groups: ['system:masters'] }

let open: ApiServer[] = []
afterEach(async () => {
  for (const server of open) await server.close(0)
  open = []
})

function start(options: Partial<ApiServerOptions> = {}): ApiServer {
  const clock = new VirtualClock()
  const server = createApiServer({
    kv: createMemoryKV({ clock, autoCompaction: false }),
    clock,
    random: seededRandom(7),
    log: silentLogger(),
    authenticators: [],
    authorizers: [privilegedAuthorizer],
    ...options,
  })
  open.push(server)
  return server
}

interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: bodies of any kind
  body: any
  text: string
  headers: Record<string, string | string[]>
}

async function ask(server: ApiServer, method: string, target: string, body?: unknown, headers: Record<string, string> = {}, user = admin): Promise<Answer> {
  const [path = '', query = ''] = target.split('?')
  const bytes = body === undefined ? new Uint8Array() : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const response = await server.handle({
    method,
    path,
    query,
    headers: { 'user-agent': 'tester/1', ...headers },
    credentials: { headers, inProcessUser: user },
    remoteAddress: '127.0.0.1',
    inProcess: false,
    readBody: async () => bytes,
    onClose() {},
  })
  const text = Buffer.from(response.bytes ?? []).toString('utf8')
  const json = String(response.headers['content-type'] ?? '').startsWith('application/json') && text !== ''
  return { status: response.status, body: json ? JSON.parse(text) : undefined, text, headers: response.headers }
}

const cm = (name: string, data: Record<string, string> = {}, meta: object = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...meta }, data })
const CMS = '/api/v1/namespaces/default/configmaps'

describe('create', () => {
  it('fills system fields and answers what get answers', async () => {
    const server = start()
    const made = await ask(server, 'POST', CMS, cm('a', { x: 'y' }))
    expect(made.status).toBe(201)
    expect(made.body.metadata).toMatchObject({ name: 'a', namespace: 'default', resourceVersion: '2' })
    expect(made.body.metadata.uid).toMatch(/^[0-9a-f-]{36}$/)
    const got = await ask(server, 'GET', `${CMS}/a`)
    expect(got.body).toEqual(made.body)
    expect(got.text.endsWith('\n')).toBe(true)
  })

  it('refuses what exists, and tries other names for generateName', async () => {
    const server = start()
    await ask(server, 'POST', CMS, cm('a'))
    const again = await ask(server, 'POST', CMS, cm('a'))
    expect(again.status).toBe(409)
    expect(again.body).toMatchObject({ reason: 'AlreadyExists', message: 'configmaps "a" already exists', details: { name: 'a', kind: 'configmaps' } })
    const names = new Set<string>()
    for (let i = 0; i < 20; i++) names.add((await ask(server, 'POST', CMS, { metadata: { generateName: 'g-' } })).body.metadata.name)
    expect(names.size).toBe(20)
    for (const name of names) expect(name).toMatch(/^g-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
  })

  it('stores nothing on a dry run or when validation fails', async () => {
    const server = start()
    expect((await ask(server, 'POST', `${CMS}?dryRun=All`, cm('dry'))).status).toBe(201)
    expect((await ask(server, 'GET', `${CMS}/dry`)).status).toBe(404)
    const bad = await ask(server, 'POST', CMS, cm('BAD'))
    expect(bad.status).toBe(422)
    expect(bad.body.details.causes[0]).toMatchObject({ field: 'metadata.name', reason: 'FieldValueInvalid' })
    expect((await ask(server, 'GET', CMS)).body.items).toEqual([])
  })

  it('tells unknown fields by header, error or not at all', async () => {
    const server = start()
    const body = { ...cm('w'), extra: 1 }
    expect((await ask(server, 'POST', `${CMS}?dryRun=All`, body)).headers.warning).toEqual(['299 - "unknown field \\"extra\\""'])
    expect((await ask(server, 'POST', `${CMS}?dryRun=All&fieldValidation=Ignore`, body)).headers.warning).toBeUndefined()
    const strict = await ask(server, 'POST', `${CMS}?dryRun=All&fieldValidation=Strict`, body)
    expect(strict.status).toBe(400)
    expect(strict.body.message).toBe('ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "extra"')
  })

  it('keeps __proto__ as data', async () => {
    const server = start()
    const made = await ask(server, 'POST', CMS, '{"metadata":{"name":"p","labels":{"a":"b"}},"data":{"__proto__":"x"}}')
    expect(made.status).toBe(201)
    expect(Object.hasOwn(made.body.data, '__proto__')).toBe(true)
    expect(({} as Record<string, unknown>).x).toBeUndefined()
  })
})

describe('update', () => {
  it('refuses a stale resourceVersion and writes nothing when nothing changes', async () => {
    const server = start()
    const made = (await ask(server, 'POST', CMS, cm('a', { x: '1' }))).body
    const second = (await ask(server, 'PUT', `${CMS}/a`, { ...made, data: { x: '2' } })).body
    expect(Number(second.metadata.resourceVersion)).toBeGreaterThan(Number(made.metadata.resourceVersion))
    const stale = await ask(server, 'PUT', `${CMS}/a`, { ...made, data: { x: '3' } })
    expect(stale.status).toBe(409)
    const same = (await ask(server, 'PUT', `${CMS}/a`, second)).body
    expect(same.metadata.resourceVersion).toBe(second.metadata.resourceVersion)
  })

  it('keeps generation for spec changes only, and status apart from spec', async () => {
    const server = start()
    const path = '/apis/apps/v1/namespaces/default/deployments'
    const spec = { selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } } }
    const made = (await ask(server, 'POST', path, { metadata: { name: 'd' }, spec, status: { replicas: 3 } })).body
    expect(made.metadata.generation).toBe(1)
    expect(made.status.replicas).toBeUndefined()
    const status = (await ask(server, 'PUT', `${path}/d/status`, { ...made, spec: { ...made.spec, replicas: 9 }, status: { replicas: 2 } })).body
    expect(status).toMatchObject({ metadata: { generation: 1 }, status: { replicas: 2 } })
    expect(status.spec.replicas).not.toBe(9)
    const scaled = (await ask(server, 'PUT', `${path}/d`, { ...status, spec: { ...status.spec, replicas: 4 }, status: {} })).body
    expect(scaled).toMatchObject({ metadata: { generation: 2 }, spec: { replicas: 4 }, status: { replicas: 2 } })
    const scale = (await ask(server, 'GET', `${path}/d/scale`)).body
    expect(scale).toMatchObject({ kind: 'Scale', spec: { replicas: 4 }, status: { replicas: 2, selector: 'a=b' } })
  })

  it('puts a missing object only for kinds that allow it', async () => {
    const server = start()
    expect((await ask(server, 'PUT', `${CMS}/none`, cm('none'))).status).toBe(404)
    const lease = await ask(server, 'PUT', '/apis/coordination.k8s.io/v1/namespaces/default/leases/l', { metadata: { name: 'l' }, spec: {} })
    expect(lease.status).toBe(201)
  })

  it('loses no write of many concurrent patches', async () => {
    const server = start()
    await ask(server, 'POST', CMS, cm('a'))
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => ask(server, 'PATCH', `${CMS}/a`, { data: { [`k${i}`]: 'v' } }, { 'content-type': 'application/merge-patch+json' })),
    )
    expect(answers.map((a) => a.status)).toEqual(Array(20).fill(200))
    expect(Object.keys((await ask(server, 'GET', `${CMS}/a`)).body.data)).toHaveLength(20)
  })
})

describe('delete', () => {
  it('waits for finalizers and goes with the last one', async () => {
    const server = start()
    await ask(server, 'POST', CMS, cm('a', {}, { finalizers: ['example.org/x'] }))
    const marked = await ask(server, 'DELETE', `${CMS}/a`)
    expect(marked.body.metadata.deletionTimestamp).toBe('2026-01-01T00:00:00Z')
    const refused = await ask(server, 'PUT', `${CMS}/a`, { ...marked.body, metadata: { ...marked.body.metadata, finalizers: ['example.org/y'] } })
    expect(refused.status).toBe(422)
    const last = await ask(server, 'PATCH', `${CMS}/a`, { metadata: { finalizers: null } }, { 'content-type': 'application/merge-patch+json' })
    expect(last.status).toBe(200)
    expect((await ask(server, 'GET', `${CMS}/a`)).status).toBe(404)
  })

  it('checks preconditions and puts the finalizers of a propagation policy', async () => {
    const server = start()
    const made = (await ask(server, 'POST', CMS, cm('a'))).body
    const wrong = await ask(server, 'DELETE', `${CMS}/a`, { preconditions: { uid: 'no' } })
    expect(wrong.status).toBe(409)
    expect(wrong.body.message).toContain(`the UID in the precondition (no) does not match the UID in record (${made.metadata.uid})`)
    const foreground = await ask(server, 'DELETE', `${CMS}/a?propagationPolicy=Foreground`)
    expect(foreground.body.metadata.finalizers).toEqual(['foregroundDeletion'])
  })

  it('deletes a selected collection', async () => {
    const server = start()
    for (const [name, color] of [
      ['a', 'red'],
      ['b', 'blue'],
      ['c', 'red'],
    ] as const) {
      await ask(server, 'POST', CMS, cm(name, {}, { labels: { color } }))
    }
    const gone = await ask(server, 'DELETE', `${CMS}?labelSelector=color%3Dred`)
    expect(gone.body.items.map((i: KubeObject) => i.metadata.name)).toEqual(['a', 'c'])
    expect((await ask(server, 'GET', CMS)).body.items.map((i: KubeObject) => i.metadata.name)).toEqual(['b'])
  })
})

describe('list', () => {
  it('pages through one state', async () => {
    const server = start()
    for (const name of ['a', 'b', 'c', 'd', 'e']) await ask(server, 'POST', CMS, cm(name))
    const first = (await ask(server, 'GET', `${CMS}?limit=2`)).body
    expect(first.metadata.remainingItemCount).toBe(3)
    await ask(server, 'POST', CMS, cm('bb'))
    const names: string[] = first.items.map((i: KubeObject) => i.metadata.name)
    let token = first.metadata.continue
    while (token) {
      const page = (await ask(server, 'GET', `${CMS}?limit=2&continue=${encodeURIComponent(token)}`)).body
      expect(page.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
      names.push(...page.items.map((i: KubeObject) => i.metadata.name))
      token = page.metadata.continue
    }
    expect(names).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('leaves the kind of items out and joins to valid JSON', async () => {
    const server = start()
    await ask(server, 'POST', CMS, cm('a', { q: '<&>"\\' }))
    const list = (await ask(server, 'GET', CMS)).body
    expect(list).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1' })
    expect(list.items[0].kind).toBeUndefined()
    expect(list.items[0].data.q).toBe('<&>"\\')
  })

  it('answers as Table, metadata, YAML', async () => {
    const server = start()
    await ask(server, 'POST', CMS, cm('a'))
    const table = (await ask(server, 'GET', CMS, undefined, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' })).body
    expect(table).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1', rows: [{ object: { kind: 'PartialObjectMetadata' } }] })
    const yaml = await ask(server, 'GET', `${CMS}/a`, undefined, { accept: 'application/yaml' })
    expect(yaml.headers['content-type']).toBe('application/yaml')
    expect(yaml.text).toContain('kind: ConfigMap\n')
    expect((await ask(server, 'GET', CMS, undefined, { accept: 'text/html' })).status).toBe(406)
  })
})

describe('long answers', () => {
  it('are the same in slices', async () => {
    const server = start()
    for (let i = 0; i < 120; i++) await ask(server, 'POST', CMS, cm(`n${i}`, { items: '"items":[]' }))
    const table = (await ask(server, 'GET', CMS, undefined, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' })).body
    expect(table.rows).toHaveLength(120)
    expect(table.columnDefinitions.length).toBeGreaterThan(1)
    const partial = (await ask(server, 'GET', CMS, undefined, { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' })).body
    expect(partial.items.map((i: KubeObject) => i.metadata.name)).toEqual((await ask(server, 'GET', CMS)).body.items.map((i: KubeObject) => i.metadata.name))
  })
})

describe('watch', () => {
  it('shows the state, then changes, in order, without a gap', async () => {
    const server = start()
    await ask(server, 'POST', CMS, cm('a'))
    const transport = server.inProcess(admin)
    const response = await transport.send({ method: 'GET', path: `${CMS}?watch=true`, headers: {}, watch: true })
    const seen: string[] = []
    const events = response.events as NonNullable<typeof response.events>
    const reading = (async () => {
      for await (const event of events) {
        seen.push(`${event.type} ${event.object.metadata.name}`)
        expect(Object.isFrozen(event.object)).toBe(true)
        if (seen.length === 4) events.stop()
      }
    })()
    await ask(server, 'POST', CMS, cm('b'))
    await ask(server, 'PUT', `${CMS}/a`, cm('a', { x: '1' }))
    await ask(server, 'DELETE', `${CMS}/b`)
    await reading
    expect(seen).toEqual(['ADDED a', 'ADDED b', 'MODIFIED a', 'DELETED b'])
  })

  it('ends with the revoked transport', async () => {
    const server = start()
    const transport = server.inProcess(admin)
    const response = await transport.send({ method: 'GET', path: `${CMS}?watch=true`, headers: {}, watch: true })
    const ended = (async () => {
      for await (const _ of response.events as NonNullable<typeof response.events>);
    })()
    transport.close()
    await ended
    await expect(transport.send({ method: 'GET', path: CMS, headers: {} })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})

describe('who may what', () => {
  it('turns strangers away before reading their bodies', async () => {
    const server = start()
    const nobody = { name: 'nobody', groups: [] }
    const answer = await ask(server, 'POST', CMS, '{broken', {}, nobody as never)
    expect(answer.status).toBe(403)
    expect(answer.body.message).toBe('configmaps is forbidden: User "nobody" cannot create resource "configmaps" in API group "" in the namespace "default"')
  })

  it('asks the authorizer about the very object it reaches', async () => {
    const asked: Attributes[] = []
    const spy: Authorizer = {
      name: 'spy',
      authorize: (attributes) => {
        asked.push(attributes)
        return { decision: 'allow' }
      },
    }
    const server = start({ authorizers: [spy] })
    await ask(server, 'PUT', '/api/v1/namespaces/ns1/pods/p/status', {})
    expect(asked[0]).toMatchObject({ verb: 'update', namespace: 'ns1', resource: 'pods', subresource: 'status', name: 'p' })
    // Cluster-scoped objects have no path below a namespace.
    expect((await ask(server, 'GET', '/api/v1/namespaces/ns1/nodes/n')).status).toBe(404)
    expect((await ask(server, 'GET', '/apis/rbac.authorization.k8s.io/v1/namespaces/ns1/clusterroles')).status).toBe(404)
    // Namespaced objects have no path beside one.
    expect((await ask(server, 'GET', '/api/v1/configmaps/x')).status).toBe(404)
  })

  it.each(['%2e%2e', '..', '.'])('refuses the name %s', async (name) => {
    const server = start()
    const answer = await ask(server, 'GET', `${CMS}/${name}`)
    expect([400, 404]).toContain(answer.status)
    expect(answer.body.reason).not.toBe('')
  })

  it('shows admission the stored object as the old one, on every path', async () => {
    const seen: { operation: string; subresource: string; old: unknown }[] = []
    const spy: AdmissionPlugin = {
      name: 'Spy',
      handles: () => true,
      validate: ({ operation, subresource, oldObject }) => {
        seen.push({ operation, subresource, old: (oldObject as { data?: unknown } | undefined)?.data })
      },
    }
    const server = start({ admission: [spy] })
    await ask(server, 'POST', CMS, cm('a', { x: '1' }))
    await ask(server, 'PUT', `${CMS}/a`, cm('a', { x: '2' }))
    await ask(server, 'PATCH', `${CMS}/a`, { data: { x: '3' } }, { 'content-type': 'application/merge-patch+json' })
    await ask(server, 'DELETE', `${CMS}/a`)
    expect(seen).toEqual([
      { operation: 'CREATE', subresource: '', old: undefined },
      { operation: 'UPDATE', subresource: '', old: { x: '1' } },
      { operation: 'UPDATE', subresource: '', old: { x: '2' } },
      { operation: 'DELETE', subresource: '', old: { x: '3' } },
    ])
  })

  it('keeps too many requests out, but not administrators and leases', async () => {
    let release: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow: AdmissionPlugin = { name: 'Slow', handles: () => true, validate: ({ resource }) => (resource.resource === 'configmaps' ? held : undefined) }
    const all: Authorizer = { name: 'all', authorize: () => ({ decision: 'allow' }) }
    const server = start({ admission: [slow], authorizers: [all], inFlightLimits: { mutating: 1 } })
    const user = { name: 'u', groups: ['system:authenticated'] }
    const first = ask(server, 'POST', CMS, cm('a'), {}, user)
    await new Promise((resolve) => setImmediate(resolve))
    const second = await ask(server, 'POST', CMS, cm('b'), {}, user)
    expect(second.status).toBe(429)
    expect(second.headers['retry-after']).toBe('1')
    const lease = await ask(server, 'POST', '/apis/coordination.k8s.io/v1/namespaces/default/leases', { metadata: { name: 'l' }, spec: {} }, {}, user)
    expect(lease.status).toBe(201)
    release()
    expect((await first).status).toBe(201)
  })
})

describe('paths', () => {
  it('answers health, version, discovery and unknown paths as upstream does', async () => {
    const server = start()
    expect((await ask(server, 'GET', '/livez')).text).toBe('ok')
    expect((await ask(server, 'GET', '/readyz?verbose')).text).toContain('[+]etcd ok\n')
    expect((await ask(server, 'GET', '/version')).body).toMatchObject({ major: '1', minor: '36', gitVersion: 'v1.36.3+k8ts' })
    expect((await ask(server, 'GET', '/api')).body).toMatchObject({ kind: 'APIVersions', versions: ['v1'] })
    expect((await ask(server, 'GET', '/apis/apps/v1')).body.resources.map((r: { name: string }) => r.name)).toContain('deployments/scale')
    expect((await ask(server, 'GET', '/nowhere')).text).toBe('404 page not found\n')
    expect((await ask(server, 'GET', '/apis/apps/v9')).body.message).toBe('the server could not find the requested resource')
    expect((await ask(server, 'HEAD', CMS)).status).toBe(405)
  })

  it('answers every served kind by its schema', async () => {
    const server = start()
    for (const { info, store } of server.endpoints.all()) {
      if (!store) continue
      const prefix = info.group === '' ? `/api/${info.version}` : `/apis/${info.group}/${info.version}`
      const answer = await ask(server, 'GET', info.namespaced ? `${prefix}/namespaces/default/${info.resource}` : `${prefix}/${info.resource}`)
      expect([answer.status, answer.body.kind], `${info.group} ${info.resource}`).toEqual([200, `${info.kind}List`])
    }
  })
})
