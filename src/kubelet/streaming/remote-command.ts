import type { Duplex, Readable } from 'node:stream'
import type { Clock } from '../../base/index.ts'
import { acceptChannels, channel, SpdyConnection, type SpdyStream, writeTo } from '../../component-base/streaming/index.ts'
import type { OutputStream, StreamingRuntime, StreamOptions, TerminalSize } from '../runtime/runtime.ts'
import { type CommandStatus, failureStatus, SUCCESS, statusOfExit } from './status.ts'
import type { StreamTarget } from './target.ts'

export interface CommandCall {
  target: StreamTarget
  streaming: StreamingRuntime
  /** Aborted when the client went. */
  signal: AbortSignal
  clock: Clock
  /** The one agreed on. */
  protocol: string
}

/** How long a SPDY client has to open all its streams. */
const STREAMS_MS = 30_000

interface Ends {
  stdin?: Readable
  stdout?: OutputStream
  stderr?: OutputStream
  resize?: Readable
  error: OutputStream
}

/** Runs or attaches, then tells how it went: with the protocols before v4 in words, and only when it went wrong. */
async function run(call: CommandCall, ends: Ends): Promise<void> {
  const { target, streaming, signal } = call
  const structured = /^v[45]\./.test(call.protocol)
  const options: StreamOptions = {
    tty: target.tty,
    signal,
    ...(ends.stdin ? { stdin: ends.stdin } : {}),
    ...(ends.stdout ? { stdout: ends.stdout } : {}),
    ...(ends.stderr ? { stderr: ends.stderr } : {}),
    ...(ends.resize ? { resize: sizes(ends.resize) } : {}),
  }
  let status: CommandStatus
  try {
    if (target.kind === 'exec') status = statusOfExit(await streaming.exec(target.containerId, target.command, options), target.command)
    else {
      await streaming.attach(target.containerId, options)
      status = SUCCESS
    }
  } catch (error) {
    status = failureStatus(target.kind === 'exec' ? 'error executing command in container' : 'error attaching to container', error)
  }
  if (signal.aborted) return
  const text = structured ? JSON.stringify(status) : (status.message ?? '')
  if (text !== '') await ends.error.write(Buffer.from(text))
}

const MAX_SIZE_TEXT = 1024

/** Terminal sizes out of a stream of JSON objects. */
async function* sizes(stream: Readable): AsyncGenerator<TerminalSize> {
  let text = ''
  for await (const chunk of stream) {
    text += (chunk as Buffer).toString('latin1')
    for (let end = text.indexOf('}'); end >= 0; end = text.indexOf('}')) {
      const match = /"Width"\s*:\s*(\d{1,5})\s*,\s*"Height"\s*:\s*(\d{1,5})/.exec(text.slice(0, end))
      text = text.slice(end + 1)
      if (match) yield { width: Number(match[1]), height: Number(match[2]) }
    }
    if (text.length > MAX_SIZE_TEXT) return
  }
}

/** Over WebSocket channels. */
export async function serveWebSocketCommand(
  socket: Duplex,
  head: Uint8Array,
  headers: Readonly<Record<string, string | undefined>>,
  call: CommandCall,
): Promise<void> {
  const { target } = call
  const channels = await acceptChannels(socket, head, headers, call.protocol, target)
  const output = (to: number): OutputStream => ({ write: (chunk) => channels.write(to, chunk) })
  try {
    await run(call, {
      ...(target.stdin ? { stdin: channels.input(channel.stdin) } : {}),
      ...(target.stdout ? { stdout: output(channel.stdout) } : {}),
      ...(target.stderr ? { stderr: output(channel.stderr) } : {}),
      ...(target.tty ? { resize: channels.input(channel.resize) } : {}),
      error: output(channel.error),
    })
    channels.close()
  } catch {
    channels.close(1011)
  }
  await channels.closed
}

/** Over SPDY streams, which the client opens. */
export async function serveSpdyCommand(socket: Duplex, head: Uint8Array, call: CommandCall): Promise<void> {
  const { target, protocol } = call
  const resizable = target.tty && /^v[345]\./.test(protocol)
  const wanted = [
    'error',
    ...(target.stdin ? ['stdin'] : []),
    ...(target.stdout ? ['stdout'] : []),
    ...(target.stderr ? ['stderr'] : []),
    ...(resizable ? ['resize'] : []),
  ]
  const found = new Map<string, SpdyStream>()
  let complete = () => {}
  const ready = new Promise<void>((resolve) => {
    complete = resolve
  })
  const connection = new SpdyConnection(socket, head, {
    role: 'server',
    maxStreams: 16,
    onStream: (stream) => {
      const type = stream.headers.streamtype ?? ''
      if (!wanted.includes(type) || found.has(type)) return stream.refuse()
      stream.accept()
      found.set(type, stream)
      if (found.size === wanted.length) complete()
    },
  })
  let late = false
  const timer = call.clock.setTimeout(() => {
    late = true
    complete()
  }, STREAMS_MS)
  void connection.closed.then(complete)
  await ready
  timer.cancel()
  if (late || connection.destroyed) {
    connection.destroy()
    return
  }
  const output = (type: string): OutputStream => ({ write: (chunk) => writeTo(found.get(type) as SpdyStream, chunk) })
  const input = (type: string): Readable => found.get(type) as SpdyStream
  try {
    await run(call, {
      ...(target.stdin ? { stdin: input('stdin') } : {}),
      ...(target.stdout ? { stdout: output('stdout') } : {}),
      ...(target.stderr ? { stderr: output('stderr') } : {}),
      ...(resizable ? { resize: input('resize') } : {}),
      error: output('error'),
    })
    for (const stream of found.values()) if (!stream.destroyed) stream.end()
    connection.end()
  } catch {
    connection.destroy()
  }
}
