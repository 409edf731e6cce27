import { remove, scratch, up } from './cluster.ts'
import { applied } from './deployment.ts'
import { emptyNodeMs, tellStart } from './of-empty-node.ts'
import { type Bench, median } from './row.ts'

const TIMES = 3
const APPLIES = 3

/** From the shell's exec of `up --detach` to a Ready node. */
export const start: Bench = {
  name: 'start',
  async run(tell) {
    const empty: number[] = []
    const fresh: number[] = []
    const again: number[] = []
    const cpu: number[] = []
    const cpuAgain: number[] = []
    const first: number[] = []
    const later: number[] = []
    for (let i = 0; i < TIMES; i++) {
      const dir = scratch()
      try {
        empty.push(emptyNodeMs())
        const one = await up(dir)
        fresh.push(one.upMs)
        cpu.push(one.cpuMs)
        first.push(await applied(one, 'web'))
        for (let k = 0; k < APPLIES; k++) later.push(await applied(one, `web-${k}`))
        one.down()
        empty.push(emptyNodeMs())
        const second = await up(dir)
        again.push(second.upMs)
        cpuAgain.push(second.cpuMs)
        second.down()
      } finally {
        remove(dir)
      }
    }
    const note = `${TIMES} starts`
    tellStart(tell, 'start of an empty cluster, simulated', fresh, empty, 1, note)
    tellStart(tell, 'start of an existing cluster, simulated', again, empty, 0.7, note)
    tell({ what: 'apply to 3 Pods Running, the first at once', figure: median(first), unit: 'ms', target: { most: 300 }, note: 'simulated; HTTPS client' })
    tell({ what: 'apply to 3 Pods Running, later ones', figure: median(later), unit: 'ms', target: { most: 300 }, note: 'simulated; HTTPS client' })
    tell({ what: "cluster's CPU time, empty", figure: median(cpu) / 1000, unit: 's' })
    tell({ what: "cluster's CPU time, existing", figure: median(cpuAgain) / 1000, unit: 's' })
  },
}

export const startContainers: Bench = {
  name: 'start-containers',
  onRequest: 'real containers need root, Linux and containerd',
  async run(tell) {
    const dir = scratch()
    try {
      const empty = emptyNodeMs()
      const cluster = await up(dir, { runtime: 'cri' })
      try {
        tellStart(tell, 'start of an empty cluster, real containers', [cluster.upMs], [empty, emptyNodeMs()], 1.5, '1 start')
        const note = 'real containers; HTTPS client'
        tell({ what: 'apply to 3 Pods Running, the first at once', figure: await applied(cluster, 'web'), unit: 'ms', note })
        tell({ what: 'apply to 3 Pods Running, another', figure: await applied(cluster, 'web-2'), unit: 'ms', note })
      } finally {
        cluster.down()
      }
    } finally {
      remove(dir)
    }
  },
}
