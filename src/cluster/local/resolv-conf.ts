import { readFile } from 'node:fs/promises'

const USUAL = '/etc/resolv.conf'
/** Where systemd-resolved names the servers that it asks itself. */
const RESOLVED = '/run/systemd/resolve/resolv.conf'

/** The file from which Pods get the machine's name servers: one that names none but the machine's own loopback is of no use in a Pod. */
export async function nodeResolvConf(read: (path: string) => Promise<string> = (path) => readFile(path, 'utf8')): Promise<string> {
  const usual = await serversOf(USUAL, read)
  if (usual.length === 0 || !usual.every((s) => s.startsWith('127.') || s === '::1')) return USUAL
  return (await serversOf(RESOLVED, read)).length > 0 ? RESOLVED : USUAL
}

async function serversOf(path: string, read: (path: string) => Promise<string>): Promise<string[]> {
  const text = await read(path).catch(() => '')
  return [...text.matchAll(/^[ \t]*nameserver[ \t]+(\S+)/gm)].map((m) => m[1] as string)
}
