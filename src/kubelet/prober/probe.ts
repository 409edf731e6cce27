import net from 'node:net'
import type { Pod, Probe } from '../../api/core/v1/types.generated.ts'
import type { Clock } from '../../base/index.ts'
import { expand } from '../env/expansion.ts'
import type { AnyContainer } from '../pods/pod.ts'
import { type ContainerRuntime, RuntimeError } from '../runtime/runtime.ts'
import { goDuration } from '../time.ts'
import { grpcHealth } from './grpc-health.ts'
import { dialError, httpRequest } from './http-request.ts'
import type { ProbeOutcome } from './outcome.ts'
import { resolvePort } from './ports.ts'

export type ProbeType = 'liveness' | 'readiness' | 'startup'

export interface ProbeContext {
  runtime: ContainerRuntime
  clock: Clock
  podIP: string
  signal: AbortSignal
}

const MAX_OUTPUT = 10 * 1024

/** One run of a probe. Never throws. */
export async function runProbe(pod: Pod, c: AnyContainer, containerId: string, type: ProbeType, probe: Probe, o: ProbeContext): Promise<ProbeOutcome> {
  const owner = o.runtime.route?.(containerId) ?? o.runtime
  if (owner.pretend) {
    const { ok, output } = owner.pretend.probe(containerId, type)
    return { result: ok ? 'success' : 'failure', output }
  }
  const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000
  try {
    if (probe.exec) return await execProbe(c, containerId, probe.exec.command ?? [], timeoutMs, o)
    if (probe.httpGet) return await httpProbe(c, probe, timeoutMs, o)
    if (probe.tcpSocket) return await tcpProbe(probe.tcpSocket.host || o.podIP, resolvePort(probe.tcpSocket.port, c), timeoutMs, o.clock)
    if (probe.grpc) return await grpcHealth(o.podIP, probe.grpc.port, probe.grpc.service ?? '', timeoutMs)
  } catch (error) {
    return { result: 'unknown', output: (error as Error).message }
  }
  return { result: 'unknown', output: `missing probe handler for ${pod.metadata.namespace}/${pod.metadata.name}:${c.name}` }
}

async function execProbe(c: AnyContainer, id: string, command: readonly string[], timeoutMs: number, o: ProbeContext): Promise<ProbeOutcome> {
  // Only values given in the spec itself: sources may have changed since the start.
  const env = new Map((c.env ?? []).filter((e) => !e.valueFrom).map((e) => [e.name, e.value ?? '']))
  const argv = command.map((a) => expand(a, (name) => env.get(name)))
  try {
    const { stdout, stderr, exitCode } = await o.runtime.execSync(id, argv, timeoutMs / 1000)
    const output = Buffer.concat([stdout, stderr]).subarray(0, MAX_OUTPUT).toString('utf8')
    return { result: exitCode === 0 ? 'success' : 'failure', output }
  } catch (error) {
    if (error instanceof RuntimeError && error.code === 'DeadlineExceeded') {
      return { result: 'failure', output: `command timed out: ${JSON.stringify(argv.join(' '))} timed out after ${goDuration(timeoutMs)}` }
    }
    throw error
  }
}

async function httpProbe(c: AnyContainer, probe: Probe, timeoutMs: number, o: ProbeContext): Promise<ProbeOutcome> {
  const get = probe.httpGet
  if (!get) throw new Error('no HTTP handler')
  const host = get.host || o.podIP
  let scheme: 'http' | 'https' = get.scheme?.toUpperCase() === 'HTTPS' ? 'https' : 'http'
  let port = resolvePort(get.port, c)
  let path = get.path ?? '/'
  let target = host
  for (let hops = 0; hops < 10; hops++) {
    let answer: Awaited<ReturnType<typeof httpRequest>>
    try {
      answer = await httpRequest({
        scheme,
        host: target,
        port,
        path,
        headers: get.httpHeaders ?? [],
        userAgent: 'kube-probe/1.36',
        timeoutMs,
        clock: o.clock,
        signal: o.signal,
      })
    } catch (error) {
      return { result: 'failure', output: (error as Error).message }
    }
    if (answer.status >= 300 && answer.status < 400 && answer.location) {
      const next = new URL(answer.location, `${scheme}://${target.includes(':') ? `[${target}]` : target}:${port}${path.startsWith('/') ? path : `/${path}`}`)
      if (next.hostname.replace(/^\[|\]$/g, '') !== target) return { result: 'warning', output: `Probe terminated redirects, Response body: ${answer.body}` }
      scheme = next.protocol === 'https:' ? 'https' : 'http'
      port = next.port ? Number(next.port) : scheme === 'https' ? 443 : 80
      path = next.pathname + next.search
      target = next.hostname.replace(/^\[|\]$/g, '')
      continue
    }
    if (answer.status >= 200 && answer.status < 400) return { result: 'success', output: answer.body }
    return { result: 'failure', output: `HTTP probe failed with statuscode: ${answer.status}` }
  }
  return { result: 'failure', output: `Get ${JSON.stringify(path)}: stopped after 10 redirects` }
}

function tcpProbe(host: string, port: number, timeoutMs: number, clock: Clock): Promise<ProbeOutcome> {
  return new Promise((resolve) => {
    const shown = host.includes(':') ? `[${host}]` : host
    const socket = net.connect({ host, port })
    const done = (outcome: ProbeOutcome) => {
      timer.cancel()
      socket.destroy()
      resolve(outcome)
    }
    const timer = clock.deadline(() => done({ result: 'failure', output: `dial tcp ${shown}:${port}: i/o timeout` }), timeoutMs)
    socket.once('connect', () => done({ result: 'success', output: '' }))
    socket.once('error', (e) => done({ result: 'failure', output: dialError(e, shown, port) }))
  })
}
