/**
 * Watchers in a process of its own: says `open`, follows one watch event by event and counts the bytes of the others, until its input ends
 * and nothing comes any more; then prints a `WatchResult` as JSON.
 */
import { readFileSync } from 'node:fs'
import { connect as connectTCP, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { connect as connectTLS } from 'node:tls'
import type { Connection } from './cluster.ts'
import { HttpClient } from './http-client.ts'

export interface WatchResult {
  /** Of the watch that is read. */
  events: number
  /** From the first byte of an event to the last. */
  seconds: number
  /** Bytes on the wire of the watch that got fewest, and of the one that got most. */
  least: number
  most: number
  /** User and system time of this process meanwhile. */
  cpuMs: number
}

const job = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as { connection: Connection; watchers: number }
const EVENT = Buffer.from('"type":"ADDED"')
const QUIET_MS = 1000
const OPENED_MS = 500
const PATH = '/api/v1/namespaces/default/configmaps'

let last = 0
let first = 0
const counts = new Array<number>(job.watchers).fill(0)

function came(index: number, bytes: number): void {
  counts[index] = (counts[index] as number) + bytes
  last = performance.now()
  if (first === 0) first = last
}

/**
 * A watch whose bytes are counted as they come, encrypted: a client that decrypts for a thousand watches would be what is measured. TLS is
 * spoken over `pipe` until the request is out; from then on nobody reads but the counter.
 */
function count(index: number, path: string): Promise<void> {
  const raw: Socket = connectTCP({
    host: job.connection.host,
    port: job.connection.port,
    // One buffer for all that is read: its content is of no interest once TLS is done with it.
    onread: {
      buffer: Buffer.alloc(128 * 1024),
      callback: (size, buffer) => {
        if (pipe) pipe.push(Buffer.from(buffer.subarray(0, size)))
        else came(index, size)
        return true
      },
    },
  })
  let pipe: Duplex | undefined = new Duplex({
    read() {},
    write: (chunk, _encoding, done) => void raw.write(chunk, () => done()),
  })
  const tls = connectTLS({ ...job.connection, socket: pipe, servername: 'localhost', ALPNProtocols: ['http/1.1'] })
  return new Promise((resolve, reject) => {
    tls.once('error', reject)
    tls.once('data', () => {
      // The head of the answer is here: TLS is done with.
      pipe = undefined
      resolve()
    })
    tls.once('secureConnect', () => tls.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n`))
  })
}

const reader = await HttpClient.open(job.connection)
const list = await (await HttpClient.open(job.connection)).request('GET', `${PATH}?limit=1`)
const path = `${PATH}?watch=1&resourceVersion=${/"resourceVersion":"(\d+)"/.exec(list.body.toString())?.[1]}`
let events = 0
let tail = Buffer.alloc(0)
reader.stream(path, (chunk) => {
  const data = tail.length > 0 ? Buffer.concat([tail, chunk]) : chunk
  let at = 0
  for (let found = data.indexOf(EVENT); found >= 0; found = data.indexOf(EVENT, at)) {
    events++
    at = found + EVENT.length
  }
  tail = Buffer.from(data.subarray(Math.max(at, data.length - EVENT.length + 1)))
  came(0, chunk.length)
})
for (let i = 1; i < job.watchers; i += 50) {
  await Promise.all(Array.from({ length: Math.min(50, job.watchers - i) }, (_, k) => count(i + k, path)))
}
await new Promise((resolve) => setTimeout(resolve, OPENED_MS))
counts.fill(0)
first = 0
const cpu = process.cpuUsage()
console.log('open')
await new Promise((resolve) => process.stdin.on('end', resolve).resume())
while (performance.now() - last < QUIET_MS) await new Promise((resolve) => setTimeout(resolve, QUIET_MS / 10))
const used = process.cpuUsage(cpu)
const others = counts.slice(1)
const result: WatchResult = {
  events,
  seconds: (last - first) / 1000,
  least: Math.min(...others),
  most: Math.max(...others),
  cpuMs: (used.user + used.system) / 1000,
}
console.log(JSON.stringify(result))
process.exit(0)
