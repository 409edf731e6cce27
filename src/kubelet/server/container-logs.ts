import type { ContainerStatus, Pod } from '../../api/core/v1/types.generated.ts'
import { timeMs } from '../../apimachinery/time.ts'
import type { Kubelet } from '../kubelet.ts'
import { findContainer, nameOf } from '../pods/pod.ts'
import { fileLines } from './log-file.ts'
import { HttpError } from './request.ts'

export interface LogOptions {
  follow: boolean
  previous: boolean
  timestamps: boolean
  /** Milliseconds since the epoch. */
  since: number | undefined
  tailLines: number | undefined
  limitBytes: number | undefined
}

/** PodLogOptions out of a query. Throws HttpError. */
export function logOptions(query: URLSearchParams, now: number): LogOptions {
  const bad = () => new HttpError(400, '{"message": "Unable to decode query."}')
  const integer = (name: string): number | undefined => {
    const value = query.get(name)
    if (value === null || value === '') return undefined
    if (!/^-?\d{1,18}$/.test(value)) throw bad()
    return Number(value)
  }
  const flag = (name: string): boolean => {
    const value = query.get(name)
    return value !== null && value !== '0' && value.toLowerCase() !== 'false'
  }
  const tail = query.get('tail')
  const tailLines = integer('tailLines') ?? (tail !== null && tail !== 'all' && /^\d{1,15}$/.test(tail) ? Number(tail) : undefined)
  const sinceSeconds = integer('sinceSeconds')
  const sinceTime = query.get('sinceTime')
  const since = sinceTime ? timeMs(sinceTime) : undefined
  if (sinceTime && since === undefined) throw bad()
  const limitBytes = integer('limitBytes')
  if (
    (tailLines !== undefined && tailLines < 0) ||
    (limitBytes !== undefined && limitBytes < 1) ||
    (sinceSeconds !== undefined && (sinceSeconds < 1 || since !== undefined))
  ) {
    throw new HttpError(422, '{"message": "Invalid request."}')
  }
  const stream = query.get('stream')
  if (stream && stream !== 'All') {
    throw new HttpError(400, `unable to return the given log stream: ${JSON.stringify(stream)}. Please enable PodLogsQuerySplitStreams feature gate in kubelet`)
  }
  return {
    follow: flag('follow'),
    previous: flag('previous'),
    timestamps: flag('timestamps'),
    since: sinceSeconds === undefined ? since : now - sinceSeconds * 1000,
    tailLines,
    limitBytes,
  }
}

/** The id of the container whose log is meant. Throws HttpError with the reason why there is none. */
function logContainer(pod: Pod, statuses: ContainerStatus[], container: string, previous: boolean): string {
  const name = nameOf(pod)
  const where = `container ${JSON.stringify(container)} in pod ${JSON.stringify(name)}`
  const status = statuses.find((s) => s.name === container)
  if (!status) throw new HttpError(400, `${where} is not available`)
  const bare = (id: string | undefined) => (id ?? '').replace(/^[^:]*:\/\//, '')
  const last = status.lastState?.terminated
  if (previous) {
    if (!last?.containerID) throw new HttpError(400, `previous terminated container ${JSON.stringify(container)} in pod ${JSON.stringify(name)} not found`)
    return bare(last.containerID)
  }
  const { waiting, running, terminated } = status.state
  if (running) return bare(status.containerID)
  if (terminated) {
    if (terminated.containerID) return bare(terminated.containerID)
    if (last?.containerID) return bare(last.containerID)
    throw new HttpError(400, `${where} is terminated`)
  }
  if (last) {
    if (!last.containerID) throw new HttpError(400, `${where} is terminated`)
    return bare(last.containerID)
  }
  if (waiting) {
    const why =
      waiting.reason === 'ErrImagePull' ? "image can't be pulled" : waiting.reason === 'ImagePullBackOff' ? 'trying and failing to pull image' : waiting.reason
    throw new HttpError(400, `${where} is waiting to start: ${why}`)
  }
  throw new HttpError(400, `${where} is waiting to start - no logs yet`)
}

/** The log of a container as clients see it. What goes wrong before the first byte is thrown as HttpError; after it, it is in the text. */
export function containerLog(
  kubelet: Kubelet,
  namespace: string,
  podName: string,
  container: string,
  o: LogOptions,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const pod = kubelet.findPod(namespace, podName)
  if (!pod) throw new HttpError(404, `pod ${JSON.stringify(podName)} does not exist`)
  if (!findContainer(pod, container)) throw new HttpError(404, `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(podName)}`)
  const status = kubelet.status.get(pod)
  const statuses = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? []), ...(status.ephemeralContainerStatuses ?? [])]
  const id = logContainer(pod, statuses, container, o.previous)
  return limited(printed(rawLines(kubelet, id, o, signal), o), o.limitBytes)
}

async function* rawLines(kubelet: Kubelet, id: string, o: LogOptions, signal: AbortSignal): AsyncGenerator<string> {
  const owner = kubelet.runtime.route?.(id) ?? kubelet.runtime
  if (owner.logs) {
    if (o.tailLines === undefined) {
      yield* owner.logs.read(id, { follow: o.follow, signal })
      return
    }
    const lines: string[] = []
    for await (const line of owner.logs.read(id, { follow: false, signal })) lines.push(line)
    yield* o.tailLines === 0 ? [] : lines.slice(-o.tailLines)
    if (!o.follow) return
    let skip = lines.length
    for await (const line of owner.logs.read(id, { follow: true, signal })) if (skip-- <= 0) yield line
    return
  }
  const status = await kubelet.runtime.containerStatus(id)
  yield* fileLines(status.logPath, {
    tail: o.tailLines,
    follow: o.follow,
    signal,
    clock: kubelet.options.clock,
    ended: async () => {
      try {
        return (await kubelet.runtime.containerStatus(id)).state !== 'RUNNING'
      } catch {
        return true
      }
    },
  })
}

async function* printed(lines: AsyncIterable<string>, o: LogOptions): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  try {
    for await (const line of lines) {
      const match = /^(\S+) (stdout|stderr) ([FP])\S* ?(.*)$/s.exec(line)
      if (!match) continue
      const [, time, , kind, body] = match as unknown as [string, string, string, string, string]
      if (o.since !== undefined && (timeMs(time) ?? 0) < o.since) continue
      const stamp = o.timestamps ? `${fixedDigits(time)} ` : ''
      yield encoder.encode(`${stamp}${body}${kind === 'F' ? '\n' : ''}`)
    }
  } catch (error) {
    const e = error as NodeJS.ErrnoException
    if (e.code === 'ENOENT')
      yield encoder.encode(`failed to try resolving symlinks in path ${JSON.stringify(e.path)}: lstat ${e.path}: no such file or directory`)
    else yield encoder.encode(`unable to retrieve container logs: ${e.message}`)
  }
}

/** Nine digits of fraction, whatever the runtime cut. */
function fixedDigits(time: string): string {
  const match = /^(.*?)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(time)
  return match ? `${match[1]}.${(match[2] ?? '').padEnd(9, '0')}${match[3]}` : time
}

async function* limited(chunks: AsyncIterable<Uint8Array>, limit: number | undefined): AsyncGenerator<Uint8Array> {
  let left = limit ?? Number.POSITIVE_INFINITY
  for await (const chunk of chunks) {
    if (chunk.length >= left) {
      yield chunk.subarray(0, left)
      return
    }
    left -= chunk.length
    yield chunk
  }
}
