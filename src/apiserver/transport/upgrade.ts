import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ApiResponse } from '../request/api-request.ts'
import { watchOverWebSocket } from './websocket-watch.ts'

/** An upgrade that is answered like any request: the connection ends with it. */
export function writeUpgradeRefusal(socket: Duplex, response: ApiResponse): void {
  const body = response.bytes ?? new Uint8Array(0)
  let head = `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? 'Unknown'}\r\n`
  for (const name in response.headers) {
    if (name === 'connection' || name === 'content-length') continue
    for (const value of [response.headers[name]].flat()) head += `${name}: ${value}\r\n`
  }
  head += `content-length: ${body.length}\r\nconnection: close\r\n\r\n`
  socket.write(head, 'latin1')
  socket.end(body)
}

/** A watch over a WebSocket, one event a message. */
export class HijackedAnswer {
  private readonly socket: Duplex
  private readonly headers: Readonly<Record<string, string | undefined>>
  private readonly head: Uint8Array

  constructor(socket: Duplex, headers: Readonly<Record<string, string | undefined>>, head: Uint8Array) {
    this.socket = socket
    this.headers = headers
    this.head = head
  }

  serveWatch(response: ApiResponse): void {
    if (this.headers.upgrade?.toLowerCase() !== 'websocket' || !response.watch) {
      this.socket.destroy()
      return
    }
    watchOverWebSocket(this.socket, this.headers, this.head, response.watch, String(response.headers['content-type'] ?? '').includes('protobuf'))
  }
}
