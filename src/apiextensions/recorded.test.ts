import { existsSync, readFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import type { KindRegistration } from '../apiserver/registry/strategy.ts'
import { type ApiServer, createApiServer } from '../apiserver/server.ts'
import { seededRandom } from '../base/random.ts'
import { VirtualClock } from '../base/virtual-clock.ts'
import type { Transport } from '../client/transport.ts'
import { createMemoryKV } from '../storage/kv/memory/memory-kv.ts'
import { CustomResources, definitionKind } from './index.ts'

type Json = Record<string, unknown>

interface Step {
  do?: string
  watch?: number
  headers?: Record<string, string>
  body?: unknown
  raw?: string
  pick?: string[]
  ignore?: string[]
  save?: Record<string, string>
  cleanup?: string
  want: { status: number; body: unknown; warning?: string }
}

const folder = new URL('../../../shared/golden/recorded/', import.meta.url)
const FILES = ['crd-lifecycle', 'crd-schema', 'crd-validation', 'crd-subresources', 'crd-columns', 'crd-patch']

/** Steps that are left out, by what tells them apart, with the reason. */
const LEFT_OUT: [pattern: RegExp, reason: string][] = [
  [/cel-|x-kubernetes-validations/, 'rules are checked by another room'],
  [/openapi/, 'published by the server that documents'],
  [/crd\/schema\/(object-metadata-errors|pruning|generation-and-update|two-versions)/, 'partly other rooms: metadata, decoding'],
  [/crd\/validation\/field-validation/, 'decoding'],
  [/crd\/lifecycle\/updates/, 'dumps of internal structs in messages'],
  [/crd\/columns\/default-age/, 'negotiation'],
  [/crd\/patch\/(kubectl|json-merge)/, "needs kubectl's steps"],
]

describe.skipIf(!existsSync(folder) && !process.env['CI'])('custom resources as recorded', () => {
  const counted = { good: 0 }
  const servers: { server: ApiServer; custom: CustomResources }[] = []
  afterAll(async () => {
    for (const { server, custom } of servers) {
      custom.stop()
      await server.close(0)
    }
  })
  for (const file of FILES) {
    const scenarios = JSON.parse(readFileSync(new URL(`${file}.json`, folder), 'utf8')) as { name: string; steps: Step[] }[]
    for (const scenario of scenarios) {
      const why = LEFT_OUT.find(([pattern]) => pattern.test(scenario.name))
      test.skipIf(why !== undefined)(scenario.name, () => play(scenario.steps, counted, servers))
    }
  }
  test('many were compared', () => expect(counted.good).toBeGreaterThan(200))
})

async function play(steps: Step[], counted: { good: number }, servers: { server: ApiServer; custom: CustomResources }[]): Promise<void> {
  const clock = new VirtualClock()
  const log = { info() {}, error() {}, warn() {}, debug() {}, child: () => log } as never
  const kv = createMemoryKV({ clock } as never)
  const server = createApiServer({
    kv,
    clock,
    random: seededRandom(1),
    log,
    kinds: [definitionKind as KindRegistration],
    authenticators: [],
    authorizers: [{ name: 'all', authorize: () => ({ decision: 'allow' as const }) }],
  })
  const custom = new CustomResources({ server, kv, clock, log })
  servers.push({ server, custom })
  await custom.start()
  const transport = server.inProcess({ name: 'admin', groups: ['system:masters'] })
  await send(transport, 'POST', '/api/v1/namespaces', '{"metadata":{"name":"ns"}}', {})
  const vars: Record<string, unknown> = { ns: 'ns', id: 'gear' }
  const fill = (text: string) => text.replaceAll(/\{(\w+)\}/g, (all, name) => (name in vars ? String(vars[name]) : all))
  for (const step of steps) {
    if (!step.do || step.watch || LEFT_OUT.slice(0, 2).some(([pattern]) => pattern.test(JSON.stringify([step.do, step.body])))) continue
    const [, method, path] = /^(\w+) (.*)$/.exec(fill(step.do)) as unknown as [string, string, string]
    const body = step.body === undefined ? step.raw : fill(JSON.stringify(step.body))
    const answer = await send(transport, method, path, body === undefined ? undefined : fill(body), step.headers ?? {})
    for (const [name, at] of Object.entries(step.save ?? {})) vars[name] = find(answer.body, at)
    const what = `${step.do} ${body?.slice(0, 300) ?? ''} -> ${JSON.stringify(answer.body).slice(0, 600)}`
    expect(answer.status, what).toBe(step.want.status)
    const want = JSON.parse(fill(JSON.stringify(step.want.body ?? null))) as Json | null
    if (want !== null && Object.keys(want)[0]?.startsWith('/')) {
      for (const [at, value] of Object.entries(want))
        if (!at.includes('*') || value !== null) expect(scrub(find(answer.body, at) ?? null), `${at} of ${what}`).toEqual(scrub(value))
    } else if (want !== null) {
      const got = structuredClone(answer.body) as Json
      for (const at of step.ignore ?? []) drop(got, at)
      expect(scrub(got), what).toEqual(scrub(want))
    }
    expect(answer.warning, what).toBe(fill(step.want.warning ?? ''))
    counted.good++
    if (method !== 'GET') await settle(clock)
  }
}

async function send(transport: Transport, method: string, path: string, body: string | undefined, headers: Record<string, string>) {
  const response = await transport.send({
    method,
    path,
    headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: { bytes: Buffer.from(body) } }),
  })
  const text = await response.text()
  let parsed: unknown = null
  try {
    parsed = JSON.parse(text)
  } catch {
    // plain text
  }
  return { status: response.status, body: parsed, warning: response.headers['warning'] ?? '' }
}

/** Lets what follows a write happen. */
async function settle(clock: VirtualClock): Promise<void> {
  for (let i = 0; i < 3; i++) {
    for (let j = 0; j < 10; j++) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(100)
  }
}

function find(value: unknown, path: string): unknown {
  let at: unknown[] = [value]
  for (const key of path.split('/').slice(1)) {
    at = at.flatMap((v) => (v === null || typeof v !== 'object' ? [] : key === '*' ? Object.values(v) : [(v as Json)[key]]))
  }
  return path.includes('*') ? at : at[0]
}

function drop(value: Json, path: string): void {
  const keys = path.split('/').slice(1)
  const last = keys.pop() as string
  let at: unknown = value
  for (const key of keys) at = (at as Json | undefined)?.[key]
  if (at) delete (at as Json)[last]
}

const VARYING = new Set(['uid', 'continue', 'time', 'creationTimestamp', 'resourceVersion', 'lastTransitionTime', 'description', 'deletionTimestamp'])

/** What differs from run to run, made the same. */
function scrub(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (key, v) =>
      VARYING.has(key) || (typeof v === 'string' && /^(\{time\}|\{uid\}|\{continue\}|eyJ.*|\d{4}-\d\d-\d\dT.*|[0-9a-f]{8}-[0-9a-f-]{27})$/.test(v)) ? 'X' : v,
    ),
  )
}
