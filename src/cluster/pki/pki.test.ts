import { X509Certificate } from 'node:crypto'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createServer } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import { seededRandom, systemRandom } from '../../base/random.ts'
import { createSigningRequest, generateKey, parseSigningRequest } from '../../component-base/x509/index.ts'
import { createPki, directoryPkiStore, kubeconfigFor, memoryPkiStore } from './index.ts'

const DAY = 24 * 3_600_000
const start = Date.UTC(2026, 0, 1)
const dirs: string[] = []
afterEach(async () => {
  for (const dir of dirs.splice(0)) await rm(dir, { recursive: true })
})
const base = { random: systemRandom(), nodeName: 'n1', hostIPs: ['192.0.2.7', 'fd00::7'] }

test('certificates chain to their authority and carry the identities and names', async () => {
  const pki = await createPki({ ...base, clock: { now: () => start } })
  const ca = new X509Certificate(pki.ca.certificate)
  expect(ca.ca).toBe(true)
  expect(Date.parse(ca.validFrom)).toBe(start - 300_000)
  for (const pair of [pki.apiserver, pki.admin, pki.kubelet, pki.kubeletServing, pki.scheduler, pki.nodeClient('n2')]) {
    const leaf = new X509Certificate(pair.certificate)
    expect(leaf.checkIssued(ca) && leaf.verify(ca.publicKey)).toBe(true)
    expect(leaf.ca).toBe(false)
  }
  const server = new X509Certificate(pki.apiserver.certificate)
  for (const host of ['kubernetes', 'kubernetes.default.svc.cluster.local', 'localhost', 'n1']) expect(server.checkHost(host)).toBe(host)
  for (const ip of ['10.96.0.1', '127.0.0.1', '::1', '192.0.2.7', 'fd00::7']) expect(server.checkIP(ip)).toBe(ip)
  expect(server.checkHost('example.com')).toBeUndefined()
  expect(new X509Certificate(pki.kubelet.certificate).subject).toBe('O=system:nodes\nCN=system:node:n1')
  expect(new X509Certificate(pki.frontProxyClient.certificate).verify(ca.publicKey)).toBe(false)
})

test('a TLS server and client made of them accept each other', async () => {
  const pki = await createPki({ ...base, clock: { now: () => Date.now() } })
  const server = createServer(
    { cert: pki.apiserver.certificate, key: pki.apiserver.key, ca: pki.ca.certificate, requestCert: true, rejectUnauthorized: true },
    (socket) => socket.end(String((socket.getPeerCertificate().subject as { CN: string }).CN)),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const text = await new Promise<string>((resolve, reject) => {
      const { port } = server.address() as { port: number }
      const socket = connect({ host: '127.0.0.1', port, ca: pki.ca.certificate, cert: pki.admin.certificate, key: pki.admin.key })
      socket.on('data', (d) => resolve(d.toString())).on('error', reject)
    })
    expect(text).toBe('kubernetes-admin')
  } finally {
    server.close()
  }
})

test('a folder keeps keys to the owner and is used again', async () => {
  const dir = join(await mkdtemp(join(tmpdir(), 'pki-')), 'pki')
  dirs.push(join(dir, '..'))
  const store = directoryPkiStore(dir, base.random)
  const first = await createPki({ ...base, store, clock: { now: () => start } })
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue
    const file = join(entry.parentPath, entry.name).slice(dir.length + 1)
    expect((await stat(join(dir, file))).mode & 0o777, file).toBe(file.endsWith('.key') ? 0o600 : 0o644)
    expect(file.endsWith('.tmp')).toBe(false)
  }
  expect((await stat(dir)).mode & 0o777).toBe(0o700)
  const second = await createPki({ ...base, store: directoryPkiStore(dir, base.random), clock: { now: () => start + DAY } })
  expect(JSON.stringify(second)).toBe(JSON.stringify(first))
})

test('leaves are renewed near their end and when names change, authorities stay', async () => {
  const store = memoryPkiStore()
  const first = await createPki({ ...base, store, clock: { now: () => start } })
  const late = await createPki({ ...base, store, clock: { now: () => start + 340 * DAY } })
  expect(late.ca).toEqual(first.ca)
  expect(late.serviceAccount).toEqual(first.serviceAccount)
  expect(late.admin.certificate).not.toBe(first.admin.certificate)
  const moved = await createPki({ ...base, store, hostIPs: ['198.51.100.1'], clock: { now: () => start + 341 * DAY } })
  expect(moved.admin).toEqual(late.admin)
  expect(new X509Certificate(moved.apiserver.certificate).checkIP('198.51.100.1')).toBe('198.51.100.1')
})

test('signing requests go round, and a broken signature is seen', () => {
  const subject = { commonName: 'system:node:ä', organizations: ['system:nodes', 'b'] }
  const pem = createSigningRequest(subject, { dns: ['n1'], ips: ['192.0.2.1', 'fd00::7'] }, generateKey())
  const read = parseSigningRequest(pem)
  expect(read).toMatchObject({
    subject: { commonName: 'system:node:ä' },
    signatureValid: true,
    names: { dns: ['n1'], ips: ['192.0.2.1', 'fd00:0:0:0:0:0:0:7'] },
  })
  expect([...read.subject.organizations].sort()).toEqual(['b', 'system:nodes'])
  const der = Buffer.from(pem.split('\n').slice(1, -2).join(''), 'base64')
  const random = seededRandom(7)
  let refused = 0
  for (let i = 0; i < 300; i++) {
    const bad = Buffer.from(der)
    bad[random.int(bad.length)]! ^= 1 << random.int(8)
    try {
      const out = parseSigningRequest(`-----BEGIN CERTIFICATE REQUEST-----\n${bad.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`)
      if (!out.signatureValid) refused++
    } catch (error) {
      expect((error as Error).message).toMatch(/^(asn1: |The encoded data was not valid)/)
      refused++
    }
  }
  expect(refused).toBe(300)
})

test('kubeconfig', async () => {
  const pki = await createPki({ ...base, clock: { now: () => start } })
  const text = kubeconfigFor({ server: 'https://127.0.0.1:6443', certificateAuthority: pki.ca.certificate, user: 'kubernetes-admin', credentials: pki.admin })
  expect(text).toContain('current-context: kubernetes-admin@kubernetes\n')
  expect(text).toContain(`client-key-data: ${Buffer.from(pki.admin.key).toString('base64')}\n`)
})
