import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { acceptWebSocket } from '../../component-base/streaming/websocket.ts'
import type { WatchBody, WatchHandle } from '../request/api-request.ts'

/** Who watches says nothing. */
const MAX_MESSAGE = 1 << 16

/** Sends each event of a watch as a message: text for JSON, binary for protobuf. */
export function watchOverWebSocket(
  socket: Duplex,
  headers: Readonly<Record<string, string | undefined>>,
  head: Uint8Array,
  watch: WatchBody,
  binary: boolean,
): void {
  const start = (connection: WebSocket) => {
    let handle: WatchHandle | undefined
    connection.on('close', () => handle?.stop())
    handle = watch.start({
      write(frames) {
        if (connection.readyState !== connection.OPEN) return false
        if (binary) connection.send(frames)
        else for (const line of Buffer.from(frames).toString('utf8').split('\n')) if (line !== '') connection.send(`${line}\n`)
        return connection.bufferedAmount < 32 * 1024 * 1024
      },
      end: () => connection.close(1000),
    })
  }
  // A handshake that fails is answered there.
  acceptWebSocket(socket, head, headers, '', MAX_MESSAGE).then(start, () => undefined)
}
