import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** What a cluster may leave behind on a machine, one line each. */
export type Traces = ReadonlySet<string>

/**
 * @param folder of the cluster: processes and mounts that name it are its own
 * @param runtime simulated clusters have no network, and one with containers may run beside them
 */
export function traces(folder: string, runtime: 'real' | 'simulated'): Traces {
  const out = new Set<string>()
  for (const pid of readdirSync('/proc').filter((n) => /^\d+$/.test(n))) {
    if (Number(pid) === process.pid) continue
    let command: string
    try {
      command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
    } catch {
      continue
    }
    if (command.includes(folder)) out.add(`process ${pid}: ${command}`)
  }
  for (const line of lines(() => readFileSync('/proc/mounts', 'utf8'))) {
    const at = line.split(' ')[1] as string
    if (at.includes(folder) || (runtime === 'real' && /^(\/var)?\/run\/netns\//.test(at))) out.add(`mount ${at}`)
  }
  if (runtime === 'simulated') return out
  for (const name of lines(() => readdirSync('/run/netns').join('\n'))) out.add(`network namespace ${name}`)
  for (const table of lines(() => execFileSync('nft', ['list', 'tables'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))) out.add(`nft ${table}`)
  for (const name of lines(() => readdirSync('/sys/class/net').join('\n'))) out.add(`interface ${name}`)
  return out
}

/** What is there after and was not before. */
export function leaks(before: Traces, after: Traces): string[] {
  return [...after].filter((t) => !before.has(t))
}

function lines(read: () => string): string[] {
  try {
    return read()
      .split('\n')
      .filter((l) => l !== '')
  } catch {
    return []
  }
}
