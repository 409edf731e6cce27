import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cli } from './cluster.ts'
import { type Bench, median } from './row.ts'

const root = join(import.meta.dirname, '..')

/** What the command costs that does not start anything, and what an installation takes on disk. */
export const command: Bench = {
  name: 'command',
  async run(tell) {
    const timed = (args: string[]): number => {
      const start = performance.now()
      spawnSync(process.execPath, args)
      return performance.now() - start
    }
    const version: number[] = []
    const bare: number[] = []
    for (let i = 0; i < 7; i++) {
      bare.push(timed(['-e', '']))
      version.push(timed([cli, 'version']))
    }
    tell({ what: 'k8ts version', figure: median(version), unit: 'ms', target: { most: 150 } })
    tell({ what: 'k8ts version, times an empty Node.js program', figure: median(version) / median(bare), unit: '×', target: { most: 1.6 } })
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, { dev?: boolean }> }
    const folders = Object.keys(lock.packages).filter((p) => p !== '' && !lock.packages[p]?.dev && existsSync(join(root, p)))
    const bytes = folders.reduce((sum, p) => sum + bytesOf(join(root, p)), 0) + bytesOf(join(root, 'dist'), /^\./)
    tell({ what: 'installed with production dependencies', figure: bytes / 1e6, unit: 'MB', target: { most: 60 }, note: `${folders.length} packages` })
  },
}

function bytesOf(dir: string, except?: RegExp): number {
  let sum = 0
  for (const entry of readdirSync(dir)) {
    if (except?.test(entry)) continue
    const stat = lstatSync(join(dir, entry))
    if (stat.isDirectory()) sum += entry === 'node_modules' ? 0 : bytesOf(join(dir, entry))
    else sum += Math.ceil(stat.size / 4096) * 4096
  }
  return sum
}
