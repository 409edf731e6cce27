import { promises as fs } from 'node:fs'
import { dirname } from 'node:path'
import type { Pod } from '../../api/core/v1/types.generated.ts'

/** The text of a Pod's /etc/hosts. @param hostFile the node's own, for Pods on the host's network */
export function hostsText(pod: Pod, ips: readonly string[], names: { hostname: string; domain: string }, hostFile: string | undefined): string {
  let text: string
  if (hostFile !== undefined) text = `# Kubernetes-managed hosts file (host network).\n${hostFile}`
  else {
    text =
      '# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n'
    for (const ip of ips) text += names.domain ? `${ip}\t${names.hostname}.${names.domain}\t${names.hostname}\n` : `${ip}\t${names.hostname}\n`
  }
  const aliases = pod.spec.hostAliases ?? []
  if (aliases.length > 0) {
    text += '\n# Entries added by HostAliases.\n'
    for (const a of aliases) text += `${a.ip}\t${(a.hostnames ?? []).join('\t')}\n`
  }
  return text
}

export async function writeHostsFile(path: string, pod: Pod, ips: readonly string[], names: { hostname: string; domain: string }): Promise<void> {
  const own = pod.spec.hostNetwork ? await fs.readFile('/etc/hosts', 'utf8').catch(() => '') : undefined
  await fs.mkdir(dirname(path), { recursive: true, mode: 0o750 })
  await fs.writeFile(path, hostsText(pod, ips, names, own), { mode: 0o644 })
  await fs.chmod(path, 0o644)
}
