import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { createServer, isIPv6, type Server, type Socket } from 'node:net'
import type { Clock } from '../../base/index.ts'
import { framed } from '../plugins/exchange.ts'
import type { Origin } from './respond.ts'

export interface ListenerOptions {
  host: string
  /** 0 takes a free one, the same for both transports. */
  port: number
  clock: Clock
  answer(bytes: Uint8Array, origin: Origin): Promise<Uint8Array | undefined>
}

/** Questions that are being answered, over UDP; more are dropped, and asked again by their clients. */
const MAX_UDP_UNDER_WAY = 2000
const MAX_CONNECTIONS = 500
const IDLE_MS = 10_000
/** Of one connection. */
const MAX_QUESTIONS = 128
const MAX_PORTS_TRIED = 20

/** One address that takes questions, over UDP and TCP. */
export class Listener {
  private readonly o: ListenerOptions
  private udp: UdpSocket | undefined
  private tcp: Server | undefined
  private readonly connections = new Set<Socket>()
  private underWay = 0

  private constructor(o: ListenerOptions) {
    this.o = o
  }

  /** @throws Error of the platform when the address cannot be had */
  static async open(o: ListenerOptions): Promise<Listener> {
    for (let i = 0; ; i++) {
      const listener = new Listener(o)
      try {
        await listener.listen()
        return listener
      } catch (e) {
        await listener.close()
        // A port that is free for one transport may not be for the other.
        if (o.port !== 0 || i >= MAX_PORTS_TRIED || (e as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw e
      }
    }
  }

  get port(): number {
    return (this.udp as UdpSocket).address().port
  }

  private async listen(): Promise<void> {
    const { host, port } = this.o
    const tcp = createServer((socket) => this.serve(socket))
    tcp.maxConnections = MAX_CONNECTIONS
    this.tcp = tcp
    await new Promise<void>((resolve, reject) => {
      tcp.once('error', reject)
      tcp.listen(port, host, () => {
        tcp.off('error', reject)
        tcp.on('error', () => {})
        resolve()
      })
    })
    const udp = createSocket({ type: isIPv6(host) ? 'udp6' : 'udp4', recvBufferSize: 1 << 20 })
    this.udp = udp
    await new Promise<void>((resolve, reject) => {
      udp.once('error', reject)
      udp.bind((tcp.address() as { port: number }).port, host, () => {
        udp.off('error', reject)
        udp.on('error', () => {})
        resolve()
      })
    })
    udp.on('message', (bytes, from) => {
      if (this.underWay >= MAX_UDP_UNDER_WAY) return
      this.underWay++
      this.o
        .answer(bytes, { transport: 'udp', client: { address: from.address, port: from.port } })
        .then((reply) => {
          if (reply && this.udp === udp) udp.send(reply, from.port, from.address, () => {})
        })
        .catch(() => {})
        .finally(() => this.underWay--)
    })
  }

  /** One connection: its questions one after the other, in order. */
  private serve(socket: Socket): void {
    this.connections.add(socket)
    const idle = () => {
      timer.cancel()
      timer = this.o.clock.deadline(() => socket.destroy(), IDLE_MS)
    }
    let timer = this.o.clock.deadline(() => socket.destroy(), IDLE_MS)
    let have: Buffer = Buffer.alloc(0)
    let busy = false
    let questions = 0
    const client = { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 }
    const work = async () => {
      if (busy) return
      busy = true
      socket.pause()
      while (have.length >= 2 && have.length >= 2 + have.readUInt16BE(0) && !socket.destroyed) {
        const length = have.readUInt16BE(0)
        const bytes = have.subarray(2, 2 + length)
        have = have.subarray(2 + length)
        idle()
        const reply = await this.o.answer(bytes, { transport: 'tcp', client })
        if (socket.destroyed) break
        // Who sends no question, or too many, is not listened to any longer.
        if (!reply || ++questions >= MAX_QUESTIONS) {
          if (reply) socket.end(framed(reply))
          else socket.destroy()
          break
        }
        if (!socket.write(framed(reply))) await new Promise<void>((resolve) => socket.once('drain', resolve).once('close', () => resolve()))
      }
      busy = false
      if (!socket.destroyed) socket.resume()
    }
    socket.on('data', (chunk: Buffer) => {
      have = have.length === 0 ? chunk : Buffer.concat([have, chunk])
      work().catch(() => socket.destroy())
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      timer.cancel()
      this.connections.delete(socket)
    })
  }

  async close(): Promise<void> {
    const { udp, tcp } = this
    this.udp = undefined
    this.tcp = undefined
    for (const socket of this.connections) socket.destroy()
    await Promise.all([
      udp && new Promise<void>((resolve) => udp.close(() => resolve())),
      tcp?.listening ? new Promise<void>((resolve) => tcp.close(() => resolve())) : undefined,
    ])
  }
}
