import https from 'node:https'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { seededRandom, systemClock } from '../../src/base/index.ts'
import { createPki, type Pki } from '../../src/cluster/pki/index.ts'
import { createLogger, MemoryLogSink } from '../../src/component-base/index.ts'
import { KubeletApi, type KubeletAuth, type RunningKubeletServer, serveKubelet } from '../../src/kubelet/index.ts'
import { type KubeletHarness, kubeletHarness } from './kubelet-harness.ts'

let h: KubeletHarness
let pki: Pki
let server: RunningKubeletServer
const asked: string[] = []
const auth: KubeletAuth = {
  authenticate: async (token) => (token === 'good' ? { username: 'metrics', groups: ['system:authenticated'] } : undefined),
  authorize: async (user, verb, subresources) => {
    asked.push(`${user.username} ${verb} ${subresources}`)
    return user.username !== 'metrics' || subresources.includes('stats')
  },
}

beforeEach(async () => {
  asked.length = 0
  h = await kubeletHarness()
  const clock = systemClock()
  pki = await createPki({ clock, random: seededRandom(5), nodeName: 'node1' })
  server = await serveKubelet({
    api: new KubeletApi({ kubelet: h.kubelet }),
    auth,
    log: createLogger({ component: 'test', sink: new MemoryLogSink(), clock }),
    certificate: pki.kubeletServing.certificate,
    key: pki.kubeletServing.key,
    clientCA: pki.ca.certificate,
    port: 0,
  })
})
afterEach(async () => {
  await server?.close()
  await h?.stop()
})

interface Answer {
  status: number
  body: string
}

function get(path: string, o: { token?: string; certificate?: boolean; method?: string; upgrade?: boolean } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const pair = pki.apiserverKubeletClient
    const request = https.request(
      {
        host: '127.0.0.1',
        port: server.port,
        path,
        method: o.method ?? 'GET',
        ca: pki.ca.certificate,
        agent: false,
        ...(o.certificate ? { cert: pair.certificate, key: pair.key } : {}),
        headers: { ...(o.token ? { authorization: `Bearer ${o.token}` } : {}), ...(o.upgrade ? { connection: 'Upgrade', upgrade: 'SPDY/3.1' } : {}) },
      },
      (answer) => {
        let body = ''
        answer.setEncoding('utf8')
        answer.on('data', (c: string) => (body += c))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }))
      },
    )
    request.on('error', reject)
    request.end()
  })
}

test('nobody comes in without a certificate or a token, or without the right', async () => {
  expect(await get('/pods')).toEqual({ status: 401, body: 'Unauthorized' })
  expect(await get('/pods', { token: 'bad' })).toEqual({ status: 401, body: 'Unauthorized' })
  expect(await get('/pods', { token: 'good' })).toEqual({
    status: 403,
    body: 'Forbidden (user=metrics, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
  })
  expect((await get('/stats/summary', { token: 'good' })).status).toBe(200)
  expect((await get('/healthz', { certificate: true })).body).toBe('ok')
  expect(asked).toEqual(['metrics get pods,proxy', 'metrics get stats', 'kube-apiserver-kubelet-client get healthz,proxy'])
})

test('Pods, logs, stats and metrics; refused upgrades', async () => {
  await h.pod({})
  await h.until('p', (p) => p.status.phase === 'Running')
  const pods = JSON.parse((await get('/pods', { certificate: true })).body)
  expect(pods.items.map((p: { metadata: { name: string } }) => p.metadata.name)).toEqual(['p'])
  expect((await get('/containerLogs/default/p/app?tailLines=1', { certificate: true })).body).toMatch(/simulated: container app/)
  expect(await get('/containerLogs/default/p/nope', { certificate: true })).toEqual({ status: 404, body: 'container "nope" not found in pod "p"' })
  expect(await get('/containerLogs/default/p/app?tailLines=x', { certificate: true })).toEqual({ status: 400, body: '{"message": "Unable to decode query."}' })
  expect(await get('/containerLogs/default/gone/app', { certificate: true })).toEqual({ status: 404, body: 'pod "gone" does not exist' })
  expect(JSON.parse((await get('/stats/summary', { certificate: true })).body).pods[0].podRef.name).toBe('p')
  expect((await get('/metrics/resource', { certificate: true })).body).toMatch(
    /container_memory_working_set_bytes\{container="app",namespace="default",pod="p"\} \d+/,
  )
  const exec = await get('/exec/default/p/app?command=ls&output=1', { certificate: true, method: 'POST', upgrade: true })
  expect(exec.status).toBe(400)
  expect(exec.body).toMatch(/^unable to upgrade: header X-Stream-Protocol-Version does not exist in request with \d+ headers$/)
  expect(await get('/exec/default/p/app?command=ls', { certificate: true, method: 'POST', upgrade: true })).toEqual({
    status: 400,
    body: 'you must specify at least 1 of stdin, stdout, stderr',
  })
  expect((await get('/logs/../../etc/passwd', { certificate: true })).status).toBe(404)
})
