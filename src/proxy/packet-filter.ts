import { execFile } from 'node:child_process'
import type { FlowFilter } from './stale-flows.ts'

/** The kernel's packet filter, as the proxy uses it. */
export interface PacketFilter {
  /** Carries out a text of nft commands, whole or not at all. @throws Error with nft's words */
  apply(commands: string): Promise<void>
  /** Whether a table, such as `ip kube-proxy`, is there. */
  hasTable(table: string): Promise<boolean>
  /** Forgets flows; that there were none is no failure. */
  forgetFlows(filter: FlowFilter): Promise<void>
}

const TIMEOUT_MS = 60_000

/**
 * The machine's own, by the tools `nft` and `conntrack`.
 * @param via runs another command elsewhere, such as `nsenter --net=…` in another network namespace
 */
export function systemPacketFilter(via: readonly string[] = []): PacketFilter {
  const run = (command: string, args: readonly string[], input = ''): Promise<string> =>
    new Promise((resolve, reject) => {
      const [program, ...rest] = [...via, command, ...args] as [string, ...string[]]
      const child = execFile(program, rest, { timeout: TIMEOUT_MS, maxBuffer: 4 << 20 }, (error, stdout, stderr) => {
        if (!error) return resolve(stdout)
        const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
        reject(new Error(missing ? `${command} is not installed` : `${command}: ${stderr.trim().slice(0, 2000) || error.message}`, { cause: error }))
      })
      // The command may end before it has read all of it.
      child.stdin?.on('error', () => {})
      child.stdin?.end(input)
    })
  return {
    apply: async (commands) => void (await run('nft', ['-f', '-'], commands)),
    hasTable: async (table) => (await run('nft', ['list', 'tables'])).split('\n').includes(`table ${table}`),
    forgetFlows: async (filter) => {
      await run('conntrack', filter).catch((e: Error) => {
        if (!/0 flow entries/.test(e.message)) throw e
      })
    },
  }
}
