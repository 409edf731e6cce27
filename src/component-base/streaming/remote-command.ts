import type { Duplex, Readable } from 'node:stream'
import { SpdyConnection, type SpdyStream } from './spdy-connection.ts'
import { refuseUpgrade, type UpgradeResult } from './upgrade.ts'
import { acceptWebSocket, WebSocketChannels } from './websocket.ts'

/** The channels of exec and attach. */
export const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const

/** The protocols of exec and attach over WebSocket; `''` is the one of clients that name none. */
export const V5 = 'v5.channel.k8s.io'
export const REMOTE_COMMAND_WEBSOCKET = [V5, 'v4.channel.k8s.io', 'v4.base64.channel.k8s.io', 'channel.k8s.io', 'base64.channel.k8s.io', '']
/** And over SPDY. */
export const REMOTE_COMMAND_SPDY = ['v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io']

/** Which streams exec or attach has. */
export interface RemoteCommandStreams {
  stdin: boolean
  stdout: boolean
  stderr: boolean
  tty: boolean
}

/** Resolves when more may be written; rejects when the stream is gone. */
export function writeTo(stream: Duplex, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => stream.write(chunk, (error) => (error ? reject(error) : resolve())))
}

/** Takes over a client that speaks WebSocket channels, with the empty first message it waits for. */
export async function acceptChannels(
  socket: Duplex,
  head: Uint8Array,
  headers: Readonly<Record<string, string | undefined>>,
  protocol: string,
  streams: RemoteCommandStreams,
): Promise<WebSocketChannels> {
  const inputs: number[] = []
  if (streams.stdin) inputs.push(channel.stdin)
  if (streams.tty) inputs.push(channel.resize)
  const channels = new WebSocketChannels(await acceptWebSocket(socket, head, headers, protocol), protocol, inputs)
  await channels.write(streams.stdout ? channel.stdout : streams.stderr ? channel.stderr : channel.error, new Uint8Array(0))
  return channels
}

export interface Translation {
  socket: Duplex
  head: Uint8Array
  headers: Readonly<Record<string, string | undefined>>
  streams: RemoteCommandStreams
  /** What the runtime, or an older kubelet, said to SPDY with `v4.channel.k8s.io`. */
  result: UpgradeResult
}

/**
 * A `v5.channel.k8s.io` client on one side, a SPDY server on the other: the client's end of stdin is passed on, the status comes after all
 * output. Resolves when it is over; a client that goes takes the other connection along.
 */
export async function translateToSpdy(t: Translation): Promise<void> {
  const { result } = t
  if (result.kind === 'refused') {
    const { status, headers, body } = result.refusal
    if (status < 400) refuseUpgrade(t.socket, 500, {}, `invalid upgrade response: status code ${status}`)
    else refuseUpgrade(t.socket, status, contentType(headers), body)
    return
  }
  const spdy = new SpdyConnection(result.socket, result.head, { role: 'client' })
  try {
    const channels = await acceptChannels(t.socket, t.head, t.headers, V5, t.streams)
    try {
      void channels.closed.then(() => spdy.destroy())
      await relay(channels, spdy, t.streams)
      channels.close()
    } catch {
      channels.close(1011)
    }
    await channels.closed
  } finally {
    spdy.destroy()
  }
}

async function relay(channels: WebSocketChannels, spdy: SpdyConnection, streams: RemoteCommandStreams): Promise<void> {
  const open = (streamType: string) => spdy.open({ streamtype: streamType })
  const error = await open('error')
  const stdin = streams.stdin ? await open('stdin') : undefined
  const stdout = streams.stdout ? await open('stdout') : undefined
  const stderr = streams.stderr ? await open('stderr') : undefined
  const resize = streams.tty ? await open('resize') : undefined
  // The runtime says nothing on these, and it says nothing of its own when they end.
  if (stdin) void upwards(channels.input(channel.stdin), stdin)
  if (resize) void upwards(channels.input(channel.resize), resize)
  const outputs: Promise<void>[] = []
  if (stdout) outputs.push(downwards(stdout, channels, channel.stdout))
  if (stderr) outputs.push(downwards(stderr, channels, channel.stderr))
  // The status is the last word.
  const status: Buffer[] = []
  outputs.push(
    (async () => {
      let bytes = 0
      for await (const chunk of error.iterator({ destroyOnReturn: false })) {
        bytes += (chunk as Buffer).length
        if (bytes <= MAX_STATUS_BYTES) status.push(chunk as Buffer)
      }
    })(),
  )
  await Promise.all(outputs)
  if (status.length > 0) await channels.write(channel.error, Buffer.concat(status))
}

const MAX_STATUS_BYTES = 64 * 1024

async function upwards(from: Readable, to: SpdyStream): Promise<void> {
  try {
    for await (const chunk of from) await writeTo(to, chunk as Buffer)
  } catch {
    // The process reads no more: what else comes is dropped.
    from.resume()
    return
  }
  to.end()
}

async function downwards(from: SpdyStream, channels: WebSocketChannels, to: number): Promise<void> {
  for await (const chunk of from.iterator({ destroyOnReturn: false })) await channels.write(to, chunk as Buffer)
}

const contentType = (headers: Record<string, string>): Record<string, string> => ({ 'content-type': headers['content-type'] ?? 'text/plain; charset=utf-8' })
