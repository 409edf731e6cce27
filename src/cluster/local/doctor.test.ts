import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { conclude, type Examination, examine } from './doctor.ts'

const dir = mkdtempSync(join(tmpdir(), 'k8ts-doctor-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const here = (change: Partial<Examination> = {}): Examination => ({
  dataDir: join(dir, 'not/there/yet'),
  running: false,
  bindAddress: '127.0.0.1',
  securePort: 0,
  nodeVersion: '20.1.0',
  path: process.env.PATH ?? '',
  ...change,
})
const find = async (what: RegExp, change: Partial<Examination>) => (await examine(here(change))).find((f) => what.test(f.what))

test('a machine that has what a cluster needs gets one; what is missing for containers does not stop it', async () => {
  const findings = await examine(here({ path: '' }))
  expect(findings.filter((f) => f.verdict === 'fault')).toEqual([])
  expect(conclude(findings)).toEqual({ cluster: true, containers: false })
  for (const f of findings) if (f.verdict !== 'ok') expect(f.fix, f.what).toBeTruthy()
})

test('programs that are missing are named with their package', async () => {
  if (process.platform !== 'linux') return
  expect(await find(/^runc$/, { path: '' })).toEqual({
    what: 'runc',
    verdict: 'limit',
    detail: 'not installed: Pods are simulated',
    fix: 'apt-get install runc',
  })
  expect(await find(/^kubectl$/, { path: '' })).toMatchObject({ verdict: 'limit', detail: 'not on the PATH' })
})

test('an old Node.js and a taken port are faults, with what to do; the port of the cluster that runs is none', async () => {
  expect(await find(/Node/, { nodeVersion: '18.19.1' })).toMatchObject({ verdict: 'fault', detail: '18.19.1 is too old' })
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  try {
    expect(await find(/^port/, { securePort: port })).toEqual({
      what: `port ${port}`,
      verdict: 'fault',
      detail: `port ${port} of 127.0.0.1 is taken by another program`,
      fix: 'stop it, or choose another port with --secure-port',
    })
    expect(await find(/^port/, { securePort: port, running: true })).toMatchObject({ verdict: 'ok' })
  } finally {
    server.close()
  }
})
