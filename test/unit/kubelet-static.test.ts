import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { resources } from '../../src/api/index.ts'
import { seededRandom } from '../../src/base/index.ts'
import { BUILTIN_HANDLER, CompositeRuntime, createBuiltinRuntime, createSimulatedRuntime, isStatic, type Unit } from '../../src/kubelet/index.ts'
import { type KubeletHarness, kubeletHarness } from './kubelet-harness.ts'

let h: KubeletHarness
let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'k8ts-manifests-'))
})
afterEach(async () => {
  await h?.stop()
  rmSync(dir, { recursive: true, force: true })
})

const write = (name: string, command: string) =>
  writeFileSync(
    join(dir, `${name}.yaml`),
    `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, namespace: kube-system}\nspec:\n  hostNetwork: true\n  containers:\n  - {name: ${name}, image: 'registry.k8s.io/${name}:v1', command: ${command}}\n`,
  )

/** Real files under virtual time: reading them takes turns of the event loop. */
const settle = async (ms: number) => {
  for (let i = 0; i < 5; i++) {
    await new Promise((r) => setTimeout(r, 5))
    await h.clock.advance(ms / 5)
  }
}

async function start(units: Map<string, Unit>) {
  h = await kubeletHarness({
    staticPodPath: dir,
    fileCheckMs: 1000,
    rootDir: join(dir, '.root'),
    logDir: join(dir, '.logs'),
    makeRuntime: (clock) => {
      const builtin = createBuiltinRuntime({ clock, random: seededRandom(3), units, version: 'test' })
      return new CompositeRuntime(createSimulatedRuntime({ clock, random: seededRandom(2) }), builtin)
    },
    handlerOf: (pod) => (isStatic(pod) ? BUILTIN_HANDLER : undefined),
  })
}

test('a static Pod is a unit of this process with a mirror Pod; an edit replaces it, removal ends it', async () => {
  const seen: string[] = []
  const unit: Unit = async (ctx) => {
    seen.push(`start ${ctx.argv.join(' ')}`)
    ctx.log.info('hello')
    await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve(), { once: true }))
    seen.push('stop')
  }
  write('comp', '[comp, --a]')
  await start(new Map([['comp', unit]]))
  await settle(10_000)
  const mirror = await h.get('comp-node1', 'kube-system')
  expect(mirror?.status.phase).toBe('Running')
  expect(mirror?.metadata.annotations?.['kubernetes.io/config.mirror']).toMatch(/^[0-9a-f]{32}$/)
  expect(mirror?.metadata.ownerReferences?.[0]).toMatchObject({ apiVersion: 'v1', kind: 'Node', name: 'node1', controller: true })
  expect(mirror?.status.containerStatuses?.[0]?.containerID).toMatch(/^builtin:\/\//)
  expect(mirror?.status.podIP).toBe('192.0.2.1')
  expect(seen).toEqual(['start comp --a'])

  // A deleted mirror comes back; the unit does not notice.
  await h.client.resource(resources.corev1.pods).namespace('kube-system').delete('comp-node1', { gracePeriodSeconds: 0 })
  await settle(5000)
  const again = await h.get('comp-node1', 'kube-system')
  expect(again?.metadata.uid).not.toBe(mirror?.metadata.uid)
  expect(again?.status.phase).toBe('Running')
  expect(seen).toEqual(['start comp --a'])

  write('comp', '[comp, --b]')
  await settle(15_000)
  expect(seen).toEqual(['start comp --a', 'stop', 'start comp --b'])
  const edited = await h.get('comp-node1', 'kube-system')
  expect(edited?.metadata.annotations?.['kubernetes.io/config.hash']).not.toBe(mirror?.metadata.annotations?.['kubernetes.io/config.hash'])
  expect(edited?.status.containerStatuses?.[0]?.restartCount).toBe(0)

  rmSync(join(dir, 'comp.yaml'))
  await settle(10_000)
  expect(seen.at(-1)).toBe('stop')
  expect(await h.get('comp-node1', 'kube-system')).toBeUndefined()
})

test('a manifest that comes back while its Pod still ends runs again', async () => {
  const seen: string[] = []
  const manifest = () => write('slow', '[slow]')
  manifest()
  await start(
    new Map<string, Unit>([
      [
        'slow',
        async (ctx) => {
          seen.push('start')
          await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve(), { once: true }))
          seen.push('stopping')
          await h.clock.sleep(1500)
          seen.push('stopped')
        },
      ],
    ]),
  )
  await settle(5000)
  expect(seen).toEqual(['start'])
  rmSync(join(dir, 'slow.yaml'))
  await settle(400)
  expect(seen).toEqual(['start', 'stopping'])
  manifest()
  await settle(400)
  expect(seen).toEqual(['start', 'stopping'])
  await settle(30_000)
  expect(seen).toEqual(['start', 'stopping', 'stopped', 'start'])
  expect((await h.get('slow-node1', 'kube-system'))?.status.phase).toBe('Running')

  // Back and away again before the end: it stays away.
  rmSync(join(dir, 'slow.yaml'))
  await settle(400)
  manifest()
  await settle(400)
  rmSync(join(dir, 'slow.yaml'))
  await settle(30_000)
  expect(seen.slice(4)).toEqual(['stopping', 'stopped'])
  expect(await h.get('slow-node1', 'kube-system')).toBeUndefined()
})

test('a unit that throws restarts with back-off; its neighbour does not notice', async () => {
  let runs = 0
  let neighbour = 0
  const forever = (ctx: Parameters<Unit>[0]) => new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve(), { once: true }))
  write('bad', '[bad]')
  write('good', '[good]')
  await start(
    new Map<string, Unit>([
      [
        'bad',
        async (ctx) => {
          runs++
          if (runs < 3) throw new Error('boom')
          await forever(ctx)
        },
      ],
      [
        'good',
        async (ctx) => {
          neighbour++
          await forever(ctx)
        },
      ],
    ]),
  )
  await settle(5000)
  const crashed = await h.get('bad-node1', 'kube-system')
  expect(crashed?.status.containerStatuses?.[0]).toMatchObject({
    restartCount: 1,
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: { terminated: { exitCode: 1, reason: 'Error', message: 'boom' } },
  })
  await settle(20_000)
  expect((await h.get('bad-node1', 'kube-system'))?.status.containerStatuses?.[0]).toMatchObject({ restartCount: 2, ready: true })
  expect(neighbour).toBe(1)
})
