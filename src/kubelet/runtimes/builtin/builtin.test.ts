import { describe, expect, it } from 'vitest'
import { seededRandom, VirtualClock } from '../../../base/index.ts'
import type { ContainerConfig, PodSandboxConfig } from '../../runtime/runtime.ts'
import { createBuiltinRuntime, type Unit, type UnitContext } from './builtin.ts'

const sandbox = (network: 'POD' | 'NODE'): PodSandboxConfig =>
  ({
    metadata: { name: 'p', namespace: 'kube-system', uid: 'u', attempt: 0 },
    labels: {},
    annotations: {},
    linux: { securityContext: { namespaceOptions: { network } } },
  }) as unknown as PodSandboxConfig
const container = {
  metadata: { name: 'c', attempt: 0 },
  image: { image: 'registry.k8s.io/unit:v1' },
  command: [],
  args: [],
  envs: [],
  mounts: [],
  labels: {},
  annotations: {},
  linux: { resources: {}, securityContext: { supplementalGroups: [] } },
} as unknown as ContainerConfig

function runtime(unit: Unit) {
  const clock = new VirtualClock()
  const taken: string[] = []
  const addresses = {
    take: async () => {
      taken.push('10.244.0.240')
      return '10.244.0.240'
    },
    release: async (a: string) => void taken.splice(taken.indexOf(a), 1),
  }
  return { clock, taken, r: createBuiltinRuntime({ clock, random: seededRandom(1), units: new Map([['unit', unit]]), version: 'test', addresses }) }
}
const untilAbort = ({ signal }: UnitContext) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))

describe('a Pod of this process', () => {
  it('has an address while its sandbox is there, and none in the host network', async () => {
    let seen: readonly string[] = []
    const { r, taken } = runtime((c) => {
      seen = c.ips
      return untilAbort(c)
    })
    const id = await r.runPodSandbox(sandbox('POD'))
    expect((await r.podSandboxStatus(id)).ips).toEqual(['10.244.0.240'])
    await r.startContainer(await r.createContainer(id, container, sandbox('POD')))
    expect(seen).toEqual(['10.244.0.240'])
    await r.removePodSandbox(id)
    expect(taken).toEqual([])
    const other = await r.runPodSandbox(sandbox('NODE'))
    expect((await r.podSandboxStatus(other)).ips).toEqual([])
  })

  it('counts as started when its unit says so, when it ends, or after a while', async () => {
    const start = async (unit: Unit) => {
      const { r, clock } = runtime(Object.assign(unit, { tellsStart: true }))
      const id = await r.runPodSandbox(sandbox('POD'))
      const c = await r.createContainer(id, container, sandbox('POD'))
      let started = false
      const starting = r.startContainer(c).then(() => (started = true))
      const state = async () => {
        await clock.advance(0)
        return started
      }
      return { state, clock, starting }
    }
    let tell = () => {}
    const telling = await start((c) => {
      tell = c.started
      return untilAbort(c)
    })
    expect(await telling.state()).toBe(false)
    tell()
    await telling.starting
    const ending = await start(async () => {})
    await ending.starting
    const silent = await start(untilAbort)
    await silent.clock.advance(2999)
    expect(await silent.state()).toBe(false)
    await silent.clock.advance(1)
    await silent.starting
  })
})
