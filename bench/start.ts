import { remove, scratch, up } from './cluster.ts'
import { type Bench, median } from './row.ts'

const TIMES = 3

/** From the shell's exec of `up --detach` to a Ready node. */
export const start: Bench = {
  name: 'start',
  async run(tell) {
    const fresh: number[] = []
    const again: number[] = []
    const cpu: number[] = []
    const cpuAgain: number[] = []
    for (let i = 0; i < TIMES; i++) {
      const dir = scratch()
      try {
        const first = await up(dir)
        fresh.push(first.upMs)
        cpu.push(first.cpuMs)
        first.down()
        const second = await up(dir)
        again.push(second.upMs)
        cpuAgain.push(second.cpuMs)
        second.down()
      } finally {
        remove(dir)
      }
    }
    const note = `${TIMES} starts`
    tell({ what: 'start of an empty cluster, simulated', figure: median(fresh) / 1000, unit: 's', target: { most: 1 }, note })
    tell({ what: 'start of an existing cluster, simulated', figure: median(again) / 1000, unit: 's', target: { most: 0.7 }, note })
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
      const cluster = await up(dir, { runtime: 'cri' })
      cluster.down()
      tell({ what: 'start of an empty cluster, real containers', figure: cluster.upMs / 1000, unit: 's', target: { most: 1.5 } })
    } finally {
      remove(dir)
    }
  },
}
