/** The API server as a cluster composes it, over the durable store, for measurements. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApiServer } from '../src/apiserver/server.ts'
import { systemRandom } from '../src/base/random.ts'
import { systemClock } from '../src/base/system-clock.ts'
import { buildApiServer } from '../src/cluster/control-plane/api-server.ts'
import { createPki, type Pki } from '../src/cluster/pki/index.ts'
import { createFeatureGates, silentLogger } from '../src/component-base/index.ts'
import { openEmbeddedKV } from '../src/storage/kv/embedded/embedded-kv.ts'
import type { KV } from '../src/storage/kv/kv.ts'
import { createMemoryKV } from '../src/storage/kv/memory/memory-kv.ts'

export interface BenchServer {
  readonly server: ApiServer
  readonly pki: Pki
  readonly kv: KV
  close(): Promise<void>
}

export const BENCH_USER = { name: 'bench', groups: ['bench:writers'] }

/** Starts it, with a user `bench` who may do everything by a role binding. */
export async function startBenchServer(engine: 'embedded' | 'memory'): Promise<BenchServer> {
  const clock = systemClock()
  const random = systemRandom()
  const dir = mkdtempSync(join(process.env['BENCH_DIR'] ?? tmpdir(), 'k8ts-api-'))
  const kv = engine === 'memory' ? createMemoryKV({ clock }) : await openEmbeddedKV({ path: join(dir, 'db'), clock })
  const pki = await createPki({ clock, random, nodeName: 'bench' })
  const stop = new AbortController()
  const { server } = buildApiServer({
    kv,
    clock,
    random,
    log: silentLogger(),
    features: createFeatureGates(),
    clientCA: pki.ca.certificate,
    serviceAccounts: {
      issuer: 'https://kubernetes.default.svc.cluster.local',
      publicKeys: [pki.serviceAccount.publicKey],
      signingKey: pki.serviceAccount.privateKey,
    },
    serviceClusterIPRange: '10.96.0.0/12',
    advertiseAddress: '127.0.0.1',
    securePort: 6443,
    rbac: true,
    signal: stop.signal,
  })
  await server.ready
  const admin = server.inProcess({ name: 'admin', groups: ['system:masters'] })
  const make = async (path: string, object: unknown) => {
    const { status, text } = await admin.send({ method: 'POST', path, headers: { 'content-type': 'application/json' }, body: { object } })
    if (status !== 201 && status !== 409) throw new Error(`${path}: ${status} ${await text()}`)
  }
  await make('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'bench' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: BENCH_USER.name }],
  })
  for (const name of ['bench', 'bench-list']) await make('/api/v1/namespaces', { metadata: { name } })
  // The authorizer hears of the binding by a watch.
  for (const asked = `/api/v1/namespaces/bench/configmaps`; ; await clock.sleep(5)) {
    const { status } = await server.inProcess(BENCH_USER).send({ method: 'GET', path: `${asked}?limit=1`, headers: {} })
    if (status === 200) break
  }
  return {
    server,
    pki,
    kv,
    async close() {
      stop.abort(new Error('stop'))
      await server.close(0)
      await kv.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** A ConfigMap of 1 KB. */
export function configMap(name: string, namespace = 'bench', more = ''): Record<string, unknown> {
  return {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name, namespace, labels: { app: 'bench', tier: name.endsWith('00') ? 'rare' : 'common' } },
    data: { config: 'x'.repeat(600), more },
  }
}
