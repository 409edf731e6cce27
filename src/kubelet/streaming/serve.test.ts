import { createHash } from 'node:crypto'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { systemClock } from '../../base/index.ts'
import { dialUpgrade, SpdyConnection, type SpdyStream, webSocketDuplex } from '../../component-base/streaming/index.ts'
import { type ContainerRuntime, RuntimeError, type StreamingRuntime, type StreamingUrls } from '../runtime/runtime.ts'
import { HttpError, type KubeletRequest } from '../server/request.ts'
import { serveStreams } from './serve.ts'
import type { StreamTarget } from './target.ts'

const clock = systemClock()

/** What the made-up containers did. */
const seen = { sizes: [] as string[], aborted: 0, written: 0 }

/** `cat`, `exit N`, `both`, `sizes N`, `flood`, `fail`: enough of a container to see every stream work. */
const container: StreamingRuntime = {
  kind: 'direct',
  async exec(_id, [name, argument], o) {
    o.signal.addEventListener('abort', () => seen.aborted++)
    switch (name) {
      case 'cat':
        for await (const chunk of o.stdin ?? []) await o.stdout?.write(chunk)
        return 0
      case 'exit':
        return Number(argument)
      case 'both':
        await o.stdout?.write(Buffer.from('to stdout'))
        await o.stderr?.write(Buffer.from('to stderr'))
        return 0
      case 'sizes':
        for await (const { width, height } of o.resize ?? []) if (seen.sizes.push(`${width}x${height}`) === Number(argument)) return 0
        return 1
      case 'flood':
        for (const chunk = Buffer.alloc(64 * 1024); !o.signal.aborted; seen.written += chunk.length) await o.stdout?.write(chunk)
        return 0
    }
    throw new RuntimeError('Unknown', `no ${name} here`)
  },
  async attach(_id, o) {
    await o.stdout?.write(Buffer.from('attached'))
  },
  async portForward(_id, port, { input, output }) {
    if (port === 81) throw new RuntimeError('Unknown', 'connection refused')
    await output.write(Buffer.from(`port ${port}:`))
    for await (const chunk of input) await output.write(chunk)
  },
}

interface Server {
  port: number
  server: http.Server
  sockets: Set<net.Socket>
}

async function listen(target: (request: KubeletRequest) => StreamTarget): Promise<Server> {
  const sockets = new Set<net.Socket>()
  const server = http.createServer((_q, a) => a.writeHead(404).end())
  server.on('connection', (s) => {
    sockets.add(s)
    s.on('error', () => {})
    s.on('close', () => sockets.delete(s))
  })
  server.on('upgrade', (q, socket: Duplex, head) => {
    const gone = new AbortController()
    socket.on('close', () => gone.abort())
    const request: KubeletRequest = { method: q.method ?? '', path: q.url ?? '', headers: q.headers as Record<string, string>, signal: gone.signal }
    serveStreams({ request, socket, head, clock }, target(request)).catch((error: HttpError) =>
      socket.end(`HTTP/1.1 ${error.status} Refused\r\ncontent-length: ${Buffer.byteLength(error.message)}\r\nconnection: close\r\n\r\n${error.message}`),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as AddressInfo).port, server, sockets }
}

function targetOf(request: KubeletRequest, streaming: StreamingRuntime | StreamingUrls): StreamTarget {
  const url = new URL(request.path, 'http://x')
  const on = (k: string) => url.searchParams.has(k)
  return {
    kind: url.pathname.slice(1) as StreamTarget['kind'],
    runtime: { streaming } as ContainerRuntime,
    containerId: 'c',
    sandboxId: 's',
    command: url.searchParams.getAll('command'),
    stdin: on('input'),
    stdout: on('output'),
    stderr: on('error') && !on('tty'),
    tty: on('tty'),
    ports: url.searchParams
      .getAll('port')
      .flatMap((p) => p.split(','))
      .map(Number),
  }
}

let direct: Server
let bridged: Server
/** Answers of the runtime's own server that are no upgrade. */
let odd: { server: http.Server; hits: string[] }

beforeEach(async () => {
  Object.assign(seen, { sizes: [], aborted: 0, written: 0 })
  direct = await listen((q) => targetOf(q, container))
  const hits: string[] = []
  const oddServer = http.createServer((q, a) => {
    hits.push(q.url ?? '')
    if (q.url?.startsWith('/redirect')) a.writeHead(302, { location: `http://127.0.0.1:${(oddServer.address() as AddressInfo).port}/secret` }).end('go there')
    else a.writeHead(404, { 'content-type': 'text/plain' }).end('token expired')
  })
  oddServer.on('upgrade', (q, socket) => {
    hits.push(q.url ?? '')
    const redirect = q.url?.startsWith('/redirect')
    socket.end(
      redirect
        ? `HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:${(oddServer.address() as AddressInfo).port}/secret\r\ncontent-length: 0\r\n\r\n`
        : 'HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\ncontent-length: 13\r\n\r\ntoken expired',
    )
  })
  await new Promise<void>((resolve) => oddServer.listen(0, '127.0.0.1', resolve))
  odd = { server: oddServer, hits }
  const oddUrl = (path: string) => `http://127.0.0.1:${(oddServer.address() as AddressInfo).port}/${path}`
  const url = (kind: string, q: Partial<Record<'stdin' | 'stdout' | 'stderr' | 'tty', boolean>>, more: [string, string][] = []): string => {
    const flags: [string, string][] = []
    for (const [from, to] of [
      ['stdin', 'input'],
      ['stdout', 'output'],
      ['stderr', 'error'],
      ['tty', 'tty'],
    ] as const)
      if (q[from]) flags.push([to, '1'])
    return `http://127.0.0.1:${direct.port}/${kind}?${new URLSearchParams([...flags, ...more])}`
  }
  bridged = await listen((q) =>
    targetOf(q, {
      kind: 'url',
      exec: async (r) =>
        r.cmd[0] === 'odd'
          ? oddUrl(r.cmd[1] as string)
          : url(
              'exec',
              r,
              r.cmd.map((c) => ['command', c]),
            ),
      attach: async (r) => url('attach', r),
      portForward: async () => url('portForward', {}),
    }),
  )
})
afterEach(async () => {
  for (const s of [direct, bridged]) {
    for (const socket of s.sockets) socket.destroy()
    s.server.close()
  }
  odd.server.closeAllConnections()
  odd.server.close()
})

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
/** Until it is so; a test that waits in vain runs into its time limit. */
async function until(what: () => boolean): Promise<void> {
  while (!what()) await turn()
}

interface Client {
  socket: WebSocket
  /** By channel. */
  text(channel: number): string
  hash(channel: number): string
  closed: Promise<number>
}

function webSocket(server: Server, path: string, protocols: string[]): Promise<Client> {
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}${path}`, protocols)
  const parts = new Map<number, Buffer[]>()
  const base64 = protocols[0]?.includes('base64')
  socket.on('message', (data: Buffer) => {
    const channel = base64 ? (data[0] as number) - 48 : (data[0] as number)
    parts.set(channel, [...(parts.get(channel) ?? []), base64 ? Buffer.from(data.toString('latin1', 1), 'base64') : data.subarray(1)])
  })
  const all = (channel: number) => Buffer.concat(parts.get(channel) ?? [])
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  return new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.on('unexpected-response', (_q, a) => {
      let body = ''
      a.on('data', (c: Buffer) => {
        body += c.toString()
      })
      a.on('end', () => reject(new HttpError(a.statusCode ?? 0, body)))
    })
    socket.on('open', () => resolve({ socket, closed, text: (c) => all(c).toString(), hash: (c) => createHash('sha256').update(all(c)).digest('hex') }))
  })
}

async function spdy(server: Server, path: string, protocol: string): Promise<SpdyConnection> {
  const result = await dialUpgrade({
    secure: false,
    host: '127.0.0.1',
    port: server.port,
    method: 'POST',
    path,
    headers: { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocol },
    signal: new AbortController().signal,
  })
  if (result.kind === 'refused') throw new HttpError(result.refusal.status, result.refusal.body.toString())
  return new SpdyConnection(result.socket, result.head, { role: 'client' })
}

async function read(stream: SpdyStream): Promise<string> {
  const parts: Buffer[] = []
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) parts.push(chunk as Buffer)
  return Buffer.concat(parts).toString()
}

const servers = { direct: () => direct, bridged: () => bridged }
const big = Buffer.alloc(3_000_000).map((_, i) => (i * 7919) >>> 3)
const failure = (code: number) => ({
  status: 'Failure',
  message: `command terminated with non-zero exit code: error executing command [exit ${code}], exit code ${code}`,
  reason: 'NonZeroExitCode',
  details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
})

describe.each(['direct', 'bridged'] as const)('%s', (kind) => {
  const server = () => servers[kind]()

  test('v5: the end of stdin reaches the command, its output comes whole, then the status', async () => {
    const c = await webSocket(server(), '/exec?command=cat&input=1&output=1', ['v5.channel.k8s.io', 'v4.channel.k8s.io'])
    expect(c.socket.protocol).toBe('v5.channel.k8s.io')
    for (let at = 0; at < big.length; at += 32_000) c.socket.send(Buffer.concat([Uint8Array.of(0), big.subarray(at, at + 32_000)]))
    c.socket.send(Uint8Array.of(255, 0))
    expect(await c.closed).toBe(1000)
    expect(c.hash(1)).toBe(createHash('sha256').update(big).digest('hex'))
    expect(c.text(3)).toBe('{"status":"Success"}')
  })

  test.each(['v5.channel.k8s.io', 'v4.channel.k8s.io', 'v4.base64.channel.k8s.io'])('%s: exit codes', async (protocol) => {
    const c = await webSocket(server(), '/exec?command=exit&command=3&output=1', [protocol])
    await c.closed
    expect(JSON.parse(c.text(3))).toEqual(failure(3))
  })

  test('channel.k8s.io: the status is words, and only of failures', async () => {
    const good = await webSocket(server(), '/exec?command=both&output=1&error=1', ['channel.k8s.io'])
    await good.closed
    expect([good.text(1), good.text(2), good.text(3)]).toEqual(['to stdout', 'to stderr', ''])
    const bad = await webSocket(server(), '/exec?command=nope&output=1', ['channel.k8s.io'])
    await bad.closed
    expect(bad.text(3)).toBe('Internal error occurred: error executing command in container: no nope here')
  })

  test('SPDY: every stream, both ways', async () => {
    const connection = await spdy(server(), '/exec?command=cat&input=1&output=1&error=1', 'v4.channel.k8s.io')
    const [error, stdin, stdout, stderr] = await Promise.all(['error', 'stdin', 'stdout', 'stderr'].map((t) => connection.open({ streamType: t })))
    stdin?.end(big)
    const [status, out, err] = await Promise.all([read(error as SpdyStream), read(stdout as SpdyStream), read(stderr as SpdyStream)])
    expect([status, err]).toEqual(['{"status":"Success"}', ''])
    expect(createHash('sha256').update(out).digest('hex')).toBe(createHash('sha256').update(big.toString()).digest('hex'))
    await connection.closed
  })

  test.each(['v5.channel.k8s.io', 'v4.channel.k8s.io'])('%s: terminal sizes', async (protocol) => {
    const c = await webSocket(server(), '/exec?command=sizes&command=2&output=1&tty=1', [protocol])
    c.socket.send(Buffer.from('\x04{"Width":80,"Height":24}'))
    c.socket.send(Buffer.from('\x04{"Width":132,"Height":50}'))
    await c.closed
    expect(seen.sizes).toEqual(['80x24', '132x50'])
    expect(c.text(3)).toBe('{"status":"Success"}')
  })

  test.each(['v5.channel.k8s.io', 'v4.channel.k8s.io'])(
    '%s: a client that stands still holds the command up; when it dies nothing is left',
    async (protocol) => {
      const c = await webSocket(server(), '/exec?command=flood&output=1', [protocol])
      c.socket.pause()
      let before = -1
      // Still: nothing more was written in many turns.
      for (let still = 0; still < 300; still = seen.written === before ? still + 1 : 0) {
        before = seen.written
        await turn()
      }
      expect(seen.written).toBeGreaterThan(0)
      expect(seen.written).toBeLessThan(24 * 1024 * 1024)
      c.socket.terminate()
      await until(() => seen.aborted === 1)
      await until(() => direct.sockets.size === 0 && bridged.sockets.size === 0)
    },
  )

  test('attach', async () => {
    const c = await webSocket(server(), '/attach?output=1', ['v5.channel.k8s.io'])
    await c.closed
    expect([c.text(1), c.text(3)]).toEqual(['attached', '{"status":"Success"}'])
  })

  test('port-forward: several connections at once over SPDY, alone and inside a WebSocket', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${server().port}/portForward`, [], {
      headers: { 'Sec-WebSocket-Protocol': 'SPDY/3.1+portforward.k8s.io' },
    } as never)
    // The name is no token, which this client minds: it is the answer that counts.
    const upgraded = new Promise<string>((resolve) => socket.on('upgrade', (a) => resolve(String(a.headers['sec-websocket-protocol']))))
    socket.on('error', () => {})
    expect(await upgraded).toBe('SPDY/3.1+portforward.k8s.io')
    socket.terminate()
    const connection = await spdy(server(), '/portForward', 'portforward.k8s.io')
    const answers = await Promise.all(
      [80, 81, 82].map(async (port, i) => {
        const headers = { port: String(port), requestID: String(i) }
        const error = await connection.open({ streamType: 'error', ...headers })
        const data = await connection.open({ streamType: 'data', ...headers })
        error.end()
        data.end('hello')
        return Promise.all([read(data), read(error)])
      }),
    )
    expect(answers).toEqual([
      ['port 80:hello', ''],
      ['', 'error forwarding port 81 to pod s, uid : connection refused'],
      ['port 82:hello', ''],
    ])
    await expect(connection.open({ streamType: 'data', port: '0', requestID: '9' })).rejects.toThrow('stream reset')
    connection.destroy()
    await until(() => direct.sockets.size === 0 && bridged.sockets.size === 0)
  })

  test('protocols nobody speaks are refused before anything runs', async () => {
    await expect(webSocket(server(), '/exec?command=cat&output=1', ['v9.channel.k8s.io'])).rejects.toMatchObject({ status: 403 })
    await expect(spdy(server(), '/exec?command=cat&output=1', 'v9')).rejects.toMatchObject({
      status: 403,
      message:
        'unable to upgrade: unable to negotiate protocol: client supports [v9], server accepts [v4.channel.k8s.io v3.channel.k8s.io v2.channel.k8s.io channel.k8s.io]',
    })
    await until(() => direct.sockets.size === 0 && bridged.sockets.size === 0)
  })
})

test('the older port-forward: the ports are in the query, each channel begins with its port', async () => {
  const c = await webSocket(direct, '/portForward?port=80,81', ['v4.channel.k8s.io'])
  c.socket.send(Buffer.from('\x00hi'))
  await until(() => c.text(0).endsWith('hi') && c.text(3).length > 2)
  expect(c.text(0)).toBe('\x50\x00port 80:hi')
  expect(c.text(1)).toBe('\x50\x00')
  expect(c.text(3)).toBe('\x51\x00error forwarding port 81 to pod s, uid : connection refused')
  c.socket.terminate()
})

test.each(['v5.channel.k8s.io', 'v4.channel.k8s.io'])('%s: what the runtime refuses the client sees; redirects are never followed', async (protocol) => {
  await expect(webSocket(bridged, '/exec?command=odd&command=x&output=1', [protocol])).rejects.toMatchObject({ status: 404, message: 'token expired' })
  await expect(webSocket(bridged, '/exec?command=odd&command=redirect&output=1', [protocol])).rejects.toMatchObject({
    status: 500,
    message: 'invalid upgrade response: status code 302',
  })
  expect(odd.hits).toEqual(['/x', '/redirect'])
  await until(() => bridged.sockets.size === 0)
})

test('a WebSocket tunnel carries SPDY', async () => {
  const raw = net.connect(bridged.port, '127.0.0.1')
  raw.write(
    'GET /portForward HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io\r\n\r\n',
  )
  const head = await new Promise<Buffer>((resolve) => raw.once('data', resolve))
  expect(head.toString()).toMatch(/^HTTP\/1.1 101 .*Sec-WebSocket-Protocol: SPDY\/3.1\+portforward.k8s.io\r\n/s)
  expect(head.toString()).toContain('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
  const client = new WebSocket(null as never, undefined as never, {} as never)
  // A client's end on a connection that is open already.
  ;(client as unknown as { _isServer: boolean })._isServer = false
  ;(client as unknown as { setSocket(s: net.Socket, h: Buffer, o: object): void }).setSocket(raw, Buffer.alloc(0), {
    allowSynchronousEvents: true,
    maxPayload: 1 << 24,
    skipUTF8Validation: true,
  })
  const connection = new SpdyConnection(await webSocketDuplex(client), new Uint8Array(0), { role: 'client' })
  const error = await connection.open({ streamType: 'error', port: '80', requestID: '1' })
  const data = await connection.open({ streamType: 'data', port: '80', requestID: '1' })
  error.end()
  data.end('through')
  expect(await read(data)).toBe('port 80:through')
  connection.destroy()
  await until(() => direct.sockets.size === 0 && bridged.sockets.size === 0)
})
