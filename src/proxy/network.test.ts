import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { corev1, discoveryv1, networkingv1 } from '../api/index.ts'
import { systemClock } from '../base/index.ts'
import { silentLogger } from '../component-base/index.ts'
import { parseProxyConfig } from './config.ts'
import { type ClusterView, FamilyTable } from './family-table.ts'
import { systemPacketFilter } from './packet-filter.ts'

/** A node with two Pods on a bridge and a machine outside of it, each a network namespace. */
const id = process.pid.toString(36)
const names = { node: `kp${id}n`, p1: `kp${id}a`, p2: `kp${id}b`, out: `kp${id}o` }
type Place = keyof typeof names
const POD = { p1: '10.244.0.2', p2: '10.244.0.3' }
const NODE = '198.51.100.1'

const sh = (script: string) => execFileSync('sh', ['-ec', script], { stdio: ['ignore', 'pipe', 'pipe'] })
const inside = (place: Place): [string, ...string[]] => ['nsenter', `--net=/run/netns/${names[place]}`, '--']

function build(): void {
  const { node, p1, p2, out } = names
  sh(`for n in ${Object.values(names).join(' ')}; do ip netns add $n; ip -n $n link set lo up; done
ip -n ${node} link add br0 type bridge; ip -n ${node} addr add 10.244.0.1/24 dev br0; ip -n ${node} link set br0 up
for p in ${p1}:${POD.p1} ${p2}:${POD.p2}; do n=\${p%%:*}; a=\${p#*:}
  ip -n ${node} link add v$n type veth peer name eth0 netns $n; ip -n ${node} link set v$n master br0 up; ip -n ${node} link set v$n type bridge_slave hairpin on
  ip -n $n addr add $a/24 dev eth0; ip -n $n link set eth0 up; ip -n $n route add default via 10.244.0.1; done
ip -n ${node} link add vout type veth peer name eth0 netns ${out}; ip -n ${node} addr add ${NODE}/24 dev vout; ip -n ${node} link set vout up
ip -n ${node} route add default via 198.51.100.2
ip -n ${out} addr add 198.51.100.2/24 dev eth0; ip -n ${out} link set eth0 up; ip -n ${out} route add default via ${NODE}
${inside('node').join(' ')} sh -ec 'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables'`)
}

function destroy(): void {
  for (const n of Object.values(names)) {
    try {
      sh(`ip netns del ${n}`)
    } catch {
      // It was not made.
    }
  }
}

const usable = (() => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  const hadFolder = existsSync('/run/netns')
  try {
    build()
    execFileSync(inside('node')[0] as string, [...inside('node').slice(1), 'nft', 'list', 'tables'], { stdio: 'ignore' })
    return true
  } catch {
    destroy()
    if (!hadFolder) sh('umount /run/netns 2>/dev/null; rmdir /run/netns 2>/dev/null; true')
    return false
  }
})()

const hasConntrack = (() => {
  try {
    execFileSync('conntrack', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

/** Answers with its name and whom it saw, over TCP and UDP. */
const SERVER = `const [name] = process.argv.slice(1)
require('net').createServer((s) => { s.on('error', () => {}); s.end(name + ' ' + s.remoteAddress.replace('::ffff:', '')) }).listen(8080, '0.0.0.0', () => {
  const u = require('dgram').createSocket('udp4'); u.on('message', (_, r) => u.send(name + ' ' + r.address, r.port, r.address)); u.bind(5353, '0.0.0.0', () => console.log('up')) })`
/** One connection per target, one after the other. */
const CLIENT = `(async () => { const out = []
for (const t of process.argv.slice(1)) { const [host, port] = t.split(':'); out.push(await new Promise((done) => { let text = ''
  const s = require('net').connect(+port, host); const late = setTimeout(() => { s.destroy(); done('timeout') }, 400)
  s.on('data', (d) => text += d); s.on('end', () => { clearTimeout(late); done(text) }); s.on('error', (e) => { clearTimeout(late); done(e.code) }) })) }
console.log(JSON.stringify(out)) })()`

const connect = (from: Place, ...targets: string[]): string[] => {
  const [program, ...args] = [...inside(from), process.execPath, '-e', CLIENT, ...targets] as const
  return JSON.parse(execFileSync(program, args, { encoding: 'utf8' }))
}

describe.skipIf(!usable)('packets in a network of namespaces', () => {
  const children: ChildProcess[] = []
  const services = new Map<string, corev1.Service>()
  const slices = new Map<string, discoveryv1.EndpointSlice[]>()
  const view: ClusterView = {
    services: () => [...services.values()],
    service: (key) => services.get(key),
    slices: (key) => slices.get(key) ?? [],
    node: () => ({ metadata: { name: 'n1' }, status: { addresses: [{ type: 'InternalIP', address: NODE }] } }) as unknown as corev1.Node,
    serviceCIDRs: () => [{ metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.96.0.0/12'] } }] as networkingv1.ServiceCIDR[],
  }
  const filter = systemPacketFilter(inside('node'))
  const table = new FamilyTable({
    family: 'IPv4',
    nodeName: 'n1',
    config: parseProxyConfig('clusterCIDR: 10.244.0.0/16'),
    view,
    filter,
    log: silentLogger(),
    onCleanupFailure: () => {
      throw new Error('cleanup failed')
    },
  })
  const put = (name: string, clusterIP: string, spec: object, endpoints: readonly (keyof typeof POD)[], remote = false, protocol = 'TCP') => {
    const key = `ns/${name}`
    services.set(key, {
      metadata: { name, namespace: 'ns' },
      spec: { type: 'ClusterIP', clusterIP, ports: [{ port: 80, protocol }], ...spec },
    } as unknown as corev1.Service)
    slices.set(key, [
      {
        metadata: { name, namespace: 'ns' },
        addressType: 'IPv4',
        ports: [{ port: protocol === 'UDP' ? 5353 : 8080, protocol, name: '' }],
        endpoints: endpoints.map((p) => ({ addresses: [POD[p]], nodeName: remote ? 'n2' : 'n1', conditions: { ready: true } })),
      } as unknown as discoveryv1.EndpointSlice,
    ])
    return key
  }
  const nodePort = (port: number, more: object = {}) => ({ type: 'NodePort', ports: [{ port: 80, nodePort: port, protocol: 'TCP' }], ...more })
  const by = (answers: string[]) => [...new Set(answers.map((a) => a.split(' ')[0]))].sort()

  beforeAll(async () => {
    for (const p of ['p1', 'p2'] as const) {
      const [program, ...args] = [...inside(p), process.execPath, '-e', SERVER, p] as const
      const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      children.push(child)
      await new Promise<void>((resolve, reject) => {
        child.stdout?.once('data', () => resolve())
        child.once('exit', (code) => reject(new Error(`server ended with ${code}`)))
      })
    }
    put('both', '10.96.0.10', nodePort(30010), ['p1', 'p2'])
    put('sticky', '10.96.0.11', { sessionAffinity: 'ClientIP' }, ['p1', 'p2'])
    put('first', '10.96.0.12', {}, ['p1'])
    put('none', '10.96.0.13', nodePort(30013), [])
    put('local', '10.96.0.14', nodePort(30014, { externalTrafficPolicy: 'Local' }), ['p2'])
    put('away', '10.96.0.15', nodePort(30015, { externalTrafficPolicy: 'Local' }), ['p2'], true)
    put('inner', '10.96.0.16', { internalTrafficPolicy: 'Local' }, ['p2'], true)
    put('external', '10.96.0.17', { externalIPs: ['203.0.113.5'] }, ['p1'])
    await table.sync('all')
  })

  afterAll(async () => {
    for (const c of children) c.kill('SIGKILL')
    await table.remove().catch(() => {})
    destroy()
  })

  it('from a Pod reach all endpoints of a ClusterIP, and keep their sender', () => {
    const answers = connect('p1', ...Array.from({ length: 24 }, () => '10.96.0.10:80'))
    expect(by(answers)).toEqual(['p1', 'p2'])
    // To itself a Pod must not seem to be itself.
    for (const a of answers) expect(a).toBe(a.startsWith('p2') ? 'p2 10.244.0.2' : 'p1 10.244.0.1')
  })

  it('from the node and to itself come back, masqueraded', () => {
    expect(connect('node', '10.96.0.12:80', '203.0.113.5:80')).toEqual(['p1 10.244.0.1', 'p1 10.244.0.1'])
    expect(connect('p1', '10.96.0.12:80')).toEqual(['p1 10.244.0.1'])
  })

  it('of one client stay with one endpoint where the Service says so', () => {
    expect(by(connect('p1', ...Array.from({ length: 12 }, () => '10.96.0.11:80')))).toHaveLength(1)
  })

  it('reach node ports and external addresses from outside, and with policy Local keep their sender', () => {
    expect(connect('out', `${NODE}:30010`, '203.0.113.5:80', `${NODE}:30014`).map((a) => a.replace(/^p1/, 'p?').replace(/^p2 10.244/, 'p? 10.244'))).toEqual([
      'p? 10.244.0.1',
      'p? 10.244.0.1',
      'p2 198.51.100.2',
    ])
    expect(by(connect('p1', `${NODE}:30010`))[0]).toMatch(/^p[12]$/)
    expect(by(connect('node', `${NODE}:30010`))[0]).toMatch(/^p[12]$/)
  })

  it('are refused without endpoints and at ports that no Service has, and dropped where policy keeps them out', () => {
    const refused = ['10.96.0.13:80', '10.96.0.10:81', `${NODE}:30013`]
    const dropped = ['10.96.0.16:80', '10.96.0.99:80']
    for (const from of ['p1', 'node'] as const)
      expect(connect(from, ...refused, ...dropped)).toEqual(['ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED', 'timeout', 'timeout'])
    expect(connect('out', `${NODE}:30013`, `${NODE}:30015`)).toEqual(['ECONNREFUSED', 'timeout'])
    // Of inside the cluster, all endpoints may be reached at that node port.
    expect(by(connect('p1', `${NODE}:30015`))).toEqual(['p2'])
    expect(by(connect('node', `${NODE}:30015`))).toEqual(['p2'])
  })

  it('follow endpoints that change, and nothing stays of a Service that is gone', async () => {
    const key = put('first', '10.96.0.12', {}, ['p2'])
    expect(await table.sync(new Set([key]))).toEqual({ full: false })
    expect(by(connect('p1', '10.96.0.12:80'))).toEqual(['p2'])
    services.delete(key)
    slices.delete(key)
    await table.sync(new Set([key]))
    expect(connect('p1', '10.96.0.12:80')).toEqual(['timeout'])
    const [program, ...args] = [...inside('node'), 'nft', 'list', 'table', 'ip', 'kube-proxy'] as const
    expect(execFileSync(program, args, { encoding: 'utf8' })).not.toContain('ns/first')
    expect(await table.isGone()).toBe(false)
    await filter.apply('delete table ip kube-proxy')
    expect(await table.isGone()).toBe(true)
    table.forget()
    expect(await table.sync(new Set())).toEqual({ full: true })
    expect(by(connect('p1', ...Array.from({ length: 16 }, () => '10.96.0.10:80')))).toEqual(['p1', 'p2'])
  })

  it.skipIf(!hasConntrack)('of UDP leave an endpoint that is gone, though their client goes on', async () => {
    const key = put('udp', '10.96.0.20', {}, ['p1'], false, 'UDP')
    await table.sync(new Set([key]))
    const script = `const u = require('dgram').createSocket('udp4'); u.on('message', (m) => console.log(String(m))); u.bind(4444, () => process.stdin.on('data', () => u.send('x', 80, '10.96.0.20')))`
    const [program, ...args] = [...inside('p2'), process.execPath, '-e', script] as const
    const client = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    children.push(client)
    const ask = () =>
      new Promise<string>((resolve) => {
        const late = systemClock().setTimeout(() => resolve('timeout'), 2000)
        client.stdout.once('data', (d) => {
          late.cancel()
          resolve(String(d).split(' ')[0] as string)
        })
        client.stdin.write('x')
      })
    expect(await ask()).toBe('p1')
    put('udp', '10.96.0.20', {}, ['p2'], false, 'UDP')
    await table.sync(new Set([key]))
    expect(await ask()).toBe('p2')
  })
})
