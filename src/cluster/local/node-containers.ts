import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Clock } from '../../base/index.ts'
import type { Logger } from '../../component-base/index.ts'
import type { ContainerRuntime, PodAddresses } from '../../kubelet/index.ts'
import { type CriRuntime, createCriRuntime } from '../../kubelet/runtimes/cri/index.ts'
import { lastAddresses, RESERVED_ADDRESSES } from '../containerd/config.ts'
import { Containerd } from '../containerd/containerd.ts'
import { demoImages, sandboxImages } from '../images/demo-images.ts'
import { type ImageRegistry, serveImages } from '../images/registry.ts'

const run = promisify(execFile)

export interface NodeContainersOptions {
  dir: string
  clock: Clock
  log: Logger
  podCIDR: string
  clusterCIDR: string
  nodeIP: string
  securePort: number
  demoImages: boolean
  registryMirrors: readonly { registry: string; url: string }[]
  /** A runtime that somebody else runs. */
  endpoint?: string
}

const INTERFACE = 'k8ts0'
const BRIDGE = 'k8ts-pods'
const TABLE = 'k8ts_host'
/** Addresses of Pods of this process. */
const SET = 'builtin_pods'

/** What real containers need on the host: containerd, the host-only interface, the guard in front of it, images. */
export class NodeContainers {
  /** The node's InternalIP, on the host-only interface. */
  static readonly nodeAddress = '10.200.0.1'
  private readonly options: NodeContainersOptions
  private readonly containerd: Containerd | undefined
  private registry: ImageRegistry | undefined
  private runtime: CriRuntime | undefined
  private podCIDR: string
  private readonly taken = new Set<string>()

  constructor(options: NodeContainersOptions) {
    this.options = options
    this.podCIDR = options.podCIDR
    if (!options.endpoint)
      this.containerd = new Containerd({ dir: options.dir, clock: options.clock, log: options.log, podCIDR: options.podCIDR, bridge: BRIDGE })
  }

  get pid(): number | undefined {
    return this.containerd?.pid
  }

  async start(): Promise<ContainerRuntime> {
    const [endpoint] = await Promise.all([this.startContainerd(), this.setUpNetwork()])
    const runtime = await createCriRuntime(endpoint).catch((e) => {
      throw new Error(
        `no container runtime answers at ${endpoint} (${e instanceof Error ? e.message : e}): start it, or leave out --container-runtime-endpoint`,
      )
    })
    this.runtime = runtime
    return Object.assign(runtime, {
      updateRuntimeConfig: async (podCIDR: string) => {
        this.podCIDR = podCIDR
        await this.containerd?.setPodCIDR(podCIDR)
      },
    })
  }

  private async startContainerd(): Promise<string> {
    const { containerd } = this
    if (!containerd) return this.options.endpoint as string
    // It reads where images come from with each pull, of which none comes before both are there.
    await Promise.all([containerd.start(), this.serveImages(containerd)])
    return containerd.endpoint
  }

  private async serveImages(containerd: Containerd): Promise<void> {
    const registry = await serveImages()
    this.registry = registry
    registry.add(await sandboxImages())
    const mirrors = new Map<string, string[]>()
    for (const m of this.options.registryMirrors) mirrors.set(m.registry, [...(mirrors.get(m.registry) ?? []), m.url])
    const offline = this.options.demoImages
    for (const name of ['docker.io', 'registry.k8s.io']) mirrors.set(name, [registry.url, ...(mirrors.get(name) ?? [])])
    await containerd.setMirrors([...mirrors].map(([name, urls]) => ({ registry: name, urls, only: offline && urls[0] === registry.url })))
    // The images of the demo are read and packed while the control plane starts; nothing waits for them but a pull.
    if (offline) {
      demoImages().then(
        ({ images, missing }) => {
          registry.add(images)
          if (missing.length > 0) this.options.log.warn('demo images are incomplete', { install: missing.join(' ') })
        },
        (e) => this.options.log.error('demo images could not be made', { error: String(e) }),
      )
    }
  }

  private async setUpNetwork(): Promise<void> {
    const { nodeIP, clusterCIDR, securePort } = this.options
    await run('ip', ['link', 'add', INTERFACE, 'type', 'bridge']).catch(ignoreExists)
    await run('ip', ['address', 'replace', `${nodeIP}/32`, 'dev', INTERFACE])
    await run('ip', ['link', 'set', INTERFACE, 'up'])
    const { writeFile } = await import('node:fs/promises')
    await writeFile('/proc/sys/net/ipv4/ip_forward', '1')
    await this.filterBridge()
    await nft(`table inet ${TABLE}
delete table inet ${TABLE}
table inet ${TABLE} {
  set ${SET} {
    type ipv4_addr
  }
  chain guard {
    type filter hook input priority -10; policy accept;
    ip daddr ${nodeIP} iifname "lo" accept
    ip daddr ${nodeIP} ip saddr { ${clusterCIDR}, ${nodeIP} } accept
    ip daddr ${nodeIP} drop
    ip daddr @${SET} iifname "lo" accept
    ip daddr @${SET} ip saddr { ${clusterCIDR}, ${nodeIP} } accept
    ip daddr @${SET} drop
  }
  chain outward {
    type nat hook postrouting priority srcnat;
    ip saddr ${clusterCIDR} ip daddr != { ${clusterCIDR}, ${nodeIP} } masquerade
  }
}
`)
    void securePort
  }

  /**
   * Addresses for Pods of this process, out of the node's range and on the host-only interface, behind the same guard: the machine and
   * its Pods reach them, nobody else.
   */
  readonly addresses: PodAddresses = {
    take: async () => {
      const free = lastAddresses(this.podCIDR, RESERVED_ADDRESSES).find((a) => !this.taken.has(a))
      if (free === undefined) throw new Error(`all ${RESERVED_ADDRESSES} addresses for Pods of this process are in use`)
      this.taken.add(free)
      try {
        await nft(`add element inet ${TABLE} ${SET} { ${free} }\n`)
        await run('ip', ['address', 'replace', `${free}/32`, 'dev', INTERFACE])
      } catch (e) {
        this.taken.delete(free)
        throw e
      }
      return free
    },
    release: async (address) => {
      await run('ip', ['address', 'delete', `${address}/32`, 'dev', INTERFACE]).catch(() => {})
      await nft(`delete element inet ${TABLE} ${SET} { ${address} }\n`).catch(() => {})
      this.taken.delete(address)
    },
  }

  /** What a Pod sends to another of this machine by a Service's address must come back through the packet filter, not across the bridge. */
  private async filterBridge(): Promise<void> {
    const { writeFile } = await import('node:fs/promises')
    const setting = '/proc/sys/net/bridge/bridge-nf-call-iptables'
    await writeFile(setting, '1').catch(async () => {
      await run('modprobe', ['br_netfilter']).catch(() => {})
      await writeFile(setting, '1').catch((e) =>
        this.options.log.warn('Pods may not reach Services whose Pods are on the same node: br_netfilter is missing', { error: String(e) }),
      )
    })
  }

  /** Ends every Pod's containers within their grace, and the sandboxes. */
  async stopPods(): Promise<void> {
    const { runtime, containerd } = this
    if (!runtime || !containerd) return
    // A Pod that was being made when its kubelet stopped may still appear.
    for (let round = 0; round < 5; round++) {
      const containers = await runtime.listContainers({ state: 'RUNNING' })
      await Promise.all(
        containers.map((c) =>
          runtime.stopContainer(c.id, graceOf(c.annotations)).catch((e) => this.options.log.warn('container did not stop', { id: c.id, error: String(e) })),
        ),
      )
      const sandboxes = await runtime.listPodSandboxes()
      if (sandboxes.length === 0) return
      await Promise.all(
        sandboxes.map(async (s) => {
          await runtime.stopPodSandbox(s.id)
          await runtime.removePodSandbox(s.id)
        }),
      )
    }
  }

  async stop(options: { containers: boolean }): Promise<void> {
    this.runtime?.close()
    await this.containerd?.stop()
    await this.registry?.close()
    if (!options.containers) return
    if (this.containerd) await NodeContainers.removeNetwork()
    // Services lead nowhere without the cluster, whoever runs the containers.
    else await removeServiceRules()
  }

  /** Takes away the interfaces and the guard, also those that a killed cluster left. */
  static async removeNetwork(): Promise<void> {
    await nft(`table inet ${TABLE}\ndelete table inet ${TABLE}\n`)
    await removeServiceRules()
    for (const name of [INTERFACE, BRIDGE]) await run('ip', ['link', 'delete', name]).catch(() => {})
  }
}

const GRACE = 'io.kubernetes.pod.terminationGracePeriod'

function graceOf(annotations: Record<string, string>): number {
  const seconds = Number(annotations[GRACE])
  return Number.isFinite(seconds) ? Math.min(seconds, 30) : 30
}

async function nft(rules: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const child = execFile('nft', ['-f', '-'], (error, _, stderr) => (error ? reject(new Error(`nft: ${stderr.trim() || error.message}`)) : resolve()))
    child.stdin?.end(rules)
  })
}

/** kube-proxy leaves its rules when it ends, so that connections outlive it: here they end. */
async function removeServiceRules(): Promise<void> {
  const { removeProxyTables } = await import('../../proxy/index.ts')
  await removeProxyTables()
}

function ignoreExists(e: { stderr?: string }): void {
  if (!/File exists/.test(e.stderr ?? '')) throw e
}
