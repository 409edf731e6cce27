import type { Duplex } from 'node:stream'
import type { WatchBody, WatchHandle } from '../request/api-request.ts'

/** Sends each event of a watch as a message: text for JSON, binary for protobuf. */
export function watchOverWebSocket(
  socket: Duplex,
  headers: Readonly<Record<string, string | undefined>>,
  head: Uint8Array,
  watch: WatchBody,
  binary: boolean,
): void {
  const start = async () => {
    const { WebSocketServer } = await import('ws')
    const server = new WebSocketServer({ noServer: true, maxPayload: 1 << 16, handleProtocols: () => false })
    const request = { headers, method: 'GET', url: '/', socket } as never
    server.handleUpgrade(request, socket, Buffer.from(head), (connection) => {
      let handle: WatchHandle | undefined
      connection.on('error', () => {})
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
    })
  }
  start().catch(() => socket.destroy())
}
