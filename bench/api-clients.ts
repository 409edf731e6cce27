/**
 * A client that costs little: raw HTTP/1.1 over TLS on kept-alive connections, requests made beforehand, answers only counted. Runs in a
 * process of its own, told what to do by one JSON line of `Task`, and prints one JSON line of `Outcome`.
 */
import { readFileSync } from 'node:fs'
import { connect, type TLSSocket } from 'node:tls'

export interface Task {
  readonly port: number
  readonly ca: string
  readonly cert: string
  readonly key: string
  readonly clients: number
  /** How many requests all clients send together. */
  readonly total: number
  readonly method: string
  /** `{i}` stands for the number of the request. */
  readonly path: string
  readonly body?: string
  readonly contentType?: string
  readonly accept?: string
  /** Numbers go round after so many; 0: never. */
  readonly modulo: number
}

export interface Outcome {
  readonly seconds: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly bytes: number
  readonly failed: number
  readonly cpuPerRequest: number
}

async function open(task: Task): Promise<TLSSocket> {
  const socket = connect({
    host: '127.0.0.1',
    port: task.port,
    ca: task.ca,
    cert: task.cert,
    key: task.key,
    servername: 'localhost',
    ALPNProtocols: ['http/1.1'],
  })
  socket.setNoDelay(true)
  await new Promise<void>((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject))
  return socket
}

function requestOf(task: Task, i: number): string {
  const n = String(task.modulo > 0 ? i % task.modulo : i)
  const body = task.body?.replaceAll('{i}', n).replaceAll('{n}', String(i))
  const head = `${task.method} ${task.path.replaceAll('{i}', n)} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench/1\r\nAccept: ${task.accept ?? 'application/json'}\r\n`
  return body === undefined
    ? `${head}\r\n`
    : `${head}Content-Type: ${task.contentType ?? 'application/json'}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

const LENGTH = /content-length: (\d+)/i

async function run(task: Task): Promise<Outcome> {
  const sockets = await Promise.all(Array.from({ length: task.clients }, () => open(task)))
  let next = 0
  let failed = 0
  let bytes = 0
  const times: number[] = []
  const cpu = process.cpuUsage()
  const start = performance.now()
  const work = (socket: TLSSocket): Promise<void> =>
    new Promise((resolve, reject) => {
      let sent = 0
      let missing = -1
      let head = ''
      const send = () => {
        if (next >= task.total) {
          resolve()
          return
        }
        sent = performance.now()
        socket.write(requestOf(task, next++))
      }
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (missing < 0) {
          const from = head.length
          head += chunk.toString('latin1', 0, 2048)
          const end = head.indexOf('\r\n\r\n')
          if (end < 0) return
          if (!head.startsWith('HTTP/1.1 2')) failed++
          missing = Number(LENGTH.exec(head)?.[1] ?? 0) - (chunk.length - (end + 4 - from))
        } else missing -= chunk.length
        if (missing > 0) return
        missing = -1
        head = ''
        times.push(performance.now() - sent)
        send()
      })
      socket.once('error', reject)
      send()
    })
  await Promise.all(sockets.map(work))
  const seconds = (performance.now() - start) / 1000
  const used = process.cpuUsage(cpu)
  for (const socket of sockets) socket.destroy()
  times.sort((a, b) => a - b)
  const at = (q: number) => times[Math.min(times.length - 1, Math.floor(times.length * q))] ?? 0
  return {
    seconds,
    perSecond: times.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    bytes: bytes / Math.max(1, times.length),
    failed,
    cpuPerRequest: (used.user + used.system) / Math.max(1, times.length),
  }
}

if (process.argv[2] === '--task') {
  const outcome = await run(JSON.parse(readFileSync(0, 'utf8')) as Task)
  console.log(JSON.stringify(outcome))
}
