import { connect, type TLSSocket } from 'node:tls'
import type { Connection } from './cluster.ts'

export interface Answer {
  status: number
  body: Buffer
}

const END = Buffer.from('\r\n\r\n')

/**
 * One keep-alive connection that costs as little as possible: one request at a time, answers with a Content-Length or in chunks
 * that end with the empty one. It shares the machine with what it measures.
 */
export class HttpClient {
  private readonly socket: TLSSocket
  private pending: ((answer: Answer) => void) | undefined
  private fail: ((error: Error) => void) | undefined
  private parts: Buffer[] = []
  private have = 0
  private need = 0
  private headEnd = 0
  private chunked = false

  private constructor(socket: TLSSocket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.take(chunk))
    socket.on('error', (e) => this.fail?.(e))
    socket.on('close', () => this.fail?.(new Error('connection closed')))
  }

  static open(to: Connection): Promise<HttpClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ ...to, servername: 'localhost', ALPNProtocols: ['http/1.1'] }, () => resolve(new HttpClient(socket)))
      socket.once('error', reject)
    })
  }

  request(method: string, path: string, body?: string, contentType = 'application/json', accept = 'application/json'): Promise<Answer> {
    const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: ${accept}\r\n`
    const text = body === undefined ? `${head}\r\n` : `${head}Content-Type: ${contentType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    return new Promise((resolve, reject) => {
      this.pending = resolve
      this.fail = reject
      this.socket.write(text)
    })
  }

  /** A watch: every chunk goes to `onData`; the connection is of no other use. */
  stream(path: string, onData: (chunk: Buffer) => void): void {
    this.socket.removeAllListeners('data')
    this.socket.on('data', onData)
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n`)
  }

  close(): void {
    this.fail = undefined
    this.socket.destroy()
  }

  private take(chunk: Buffer): void {
    this.parts.push(chunk)
    this.have += chunk.length
    if (this.need === 0) {
      const all = this.joined()
      const end = all.indexOf(END)
      if (end < 0) return
      const head = all.toString('latin1', 0, end)
      this.headEnd = end + 4
      const length = /\r\ncontent-length: (\d+)/i.exec(head)
      this.chunked = !length
      this.need = length ? this.headEnd + Number(length[1]) : Number.POSITIVE_INFINITY
    }
    if (this.chunked) {
      const last = this.parts[this.parts.length - 1] as Buffer
      if (!last.subarray(-7).toString('latin1').endsWith('0\r\n\r\n')) return
    } else if (this.have < this.need) return
    const all = this.joined()
    const status = Number(all.toString('latin1', 9, 12))
    const body = all.subarray(this.headEnd)
    this.parts = []
    this.have = 0
    this.need = 0
    const done = this.pending
    this.pending = undefined
    this.fail = undefined
    done?.({ status, body })
  }

  private joined(): Buffer {
    if (this.parts.length > 1) this.parts = [Buffer.concat(this.parts)]
    return this.parts[0] as Buffer
  }
}
