/** Where a private containerd keeps its things; `dir` must be short: socket paths end at 108 bytes. */
export interface ContainerdPaths {
  dir: string
  /** Folder of the CNI plugins' binaries. */
  cniBinDir: string
  sandboxImage: string
  streamAddress: string
}

const UNUSED_PLUGINS = [
  'io.containerd.snapshotter.v1.aufs',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.zfs',
  'io.containerd.internal.v1.tracing',
  'io.containerd.tracing.processor.v1.otlp',
]

/**
 * The configuration of an instance that shares nothing with another containerd of the machine: own root, state, socket, runc root and
 * network configuration. Versions 1.6 and 1.7 read format 2, version 2 moved the CRI plugin's sections (format 3).
 */
export function containerdConfig(p: ContainerdPaths, majorVersion: number): string {
  const q = (s: string) => JSON.stringify(s)
  const head = (format: number) => `version = ${format}
root = ${q(`${p.dir}/root`)}
state = ${q(`${p.dir}/state`)}
disabled_plugins = ${JSON.stringify(UNUSED_PLUGINS)}
[grpc]
  address = ${q(`${p.dir}/c.sock`)}
[plugins."io.containerd.internal.v1.opt"]
  path = ${q(`${p.dir}/opt`)}
`
  const runc = (prefix: string) => `  [plugins.${prefix}.containerd]
    default_runtime_name = "runc"
    [plugins.${prefix}.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins.${prefix}.containerd.runtimes.runc.options]
        BinaryName = "runc"
        Root = ${q(`${p.dir}/runc`)}
        SystemdCgroup = false
`
  const cni = (prefix: string) => `  [plugins.${prefix}.cni]
    bin_dir = ${q(p.cniBinDir)}
    conf_dir = ${q(`${p.dir}/cni/conf`)}
`
  if (majorVersion < 2) {
    const cri = '"io.containerd.grpc.v1.cri"'
    return `${head(2)}[plugins.${cri}]
  sandbox_image = ${q(p.sandboxImage)}
  stream_server_address = ${q(p.streamAddress)}
  stream_server_port = "0"
  netns_mounts_under_state_dir = true
  restrict_oom_score_adj = true
  enable_unprivileged_ports = true
${cni(cri)}${runc(cri)}  [plugins.${cri}.registry]
    config_path = ${q(`${p.dir}/certs`)}
`
  }
  const runtime = '"io.containerd.cri.v1.runtime"'
  const images = '"io.containerd.cri.v1.images"'
  return `${head(3)}[plugins.${runtime}]
  netns_mounts_under_state_dir = true
  restrict_oom_score_adj = true
  enable_unprivileged_ports = true
${cni(runtime)}${runc(runtime)}[plugins.${images}]
  [plugins.${images}.pinned_images]
    sandbox = ${q(p.sandboxImage)}
  [plugins.${images}.registry]
    config_path = ${q(`${p.dir}/certs`)}
[plugins."io.containerd.grpc.v1.cri"]
  stream_server_address = ${q(p.streamAddress)}
  stream_server_port = "0"
`
}

/** Addresses at the end of a node's range that the Pod network leaves to Pods of this process. */
export const RESERVED_ADDRESSES = 15

/** The last addresses of an IPv4 range before its broadcast address: the highest last. */
export function lastAddresses(podCIDR: string, count: number): string[] {
  const [address = '', bits] = podCIDR.split('/')
  const first = address.split('.').reduce((n, part) => n * 256 + Number(part), 0)
  const end = first + 2 ** (32 - Number(bits)) - 1
  return Array.from({ length: count }, (_, i) => [24, 16, 8, 0].map((shift) => Math.floor((end - count + i) / 2 ** shift) % 256).join('.'))
}

/** The Pod network of one node: a bridge that routes, addresses from the node's range. */
export function cniConfig(dir: string, podCIDR: string, bridge: string): string {
  return JSON.stringify(
    {
      cniVersion: '0.4.0',
      name: 'k8ts',
      plugins: [
        {
          type: 'bridge',
          bridge,
          isGateway: true,
          ipMasq: false,
          hairpinMode: true,
          ipam: { type: 'host-local', dataDir: `${dir}/cni/ipam`, ranges: [[range(podCIDR)]], routes: [{ dst: '0.0.0.0/0' }] },
        },
        { type: 'portmap', capabilities: { portMappings: true }, snat: true },
      ],
    },
    null,
    2,
  )
}

/** A range too small to give anything away is used as it is. */
function range(subnet: string): { subnet: string; rangeEnd?: string } {
  if (subnet.includes(':') || Number(subnet.split('/')[1]) > 26) return { subnet }
  return { subnet, rangeEnd: lastAddresses(subnet, RESERVED_ADDRESSES + 1)[0] as string }
}

/** Where a registry's images are pulled from. @param only no fall-back to the registry itself */
export function hostsToml(registry: string, mirrors: readonly string[], only: boolean): string {
  const server = only && mirrors[0] !== undefined ? mirrors[0] : registry === 'docker.io' ? 'https://registry-1.docker.io' : `https://${registry}`
  return `server = ${JSON.stringify(server)}\n${mirrors.map((m) => `[host.${JSON.stringify(m)}]\n  capabilities = ["pull", "resolve"]\n`).join('')}`
}
