import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import type { WatchBody, WatchSink } from '../request/api-request.ts'
import { watchOverWebSocket } from './websocket-watch.ts'

describe('a watch over a WebSocket', () => {
  let server: Server
  let sink: WatchSink
  let stopped: Promise<void>
  const serve = async (binary: boolean): Promise<number> => {
    const started = (s: WatchSink) => {
      sink = s
      sink.write(Buffer.from('{"type":"ADDED"}\n{"type":"MODIFIED"}\n'))
      return { stop: () => stop() }
    }
    let stop = () => {}
    stopped = new Promise((resolve) => {
      stop = resolve
    })
    server = createServer()
    server.on('upgrade', (req, socket, head) =>
      watchOverWebSocket(socket, req.headers as Record<string, string>, head, { start: started } as unknown as WatchBody, binary),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
  }
  afterEach(() => new Promise((resolve) => server.close(resolve)))

  it('sends each event as a text, and ends with it', async () => {
    const client = new WebSocket(`ws://127.0.0.1:${await serve(false)}/`)
    const got: string[] = []
    const two = new Promise<void>((resolve) => client.on('message', (data, binary) => void (got.push(`${binary} ${data}`) === 2 && resolve())))
    await two
    const closed = new Promise((resolve) => client.on('close', (code) => resolve(code)))
    sink.end()
    expect(await closed).toBe(1000)
    expect(got).toEqual(['false {"type":"ADDED"}\n', 'false {"type":"MODIFIED"}\n'])
    expect(sink.write(Buffer.from('late'))).toBe(false)
    await stopped
  })

  it('sends protobuf as it comes', async () => {
    const client = new WebSocket(`ws://127.0.0.1:${await serve(true)}/`)
    expect(await new Promise((resolve) => client.on('message', (data, binary) => resolve([binary, String(data)])))).toEqual([
      true,
      '{"type":"ADDED"}\n{"type":"MODIFIED"}\n',
    ])
    const closed = new Promise((resolve) => client.on('close', resolve))
    client.close()
    await Promise.all([closed, stopped])
  })

  it('refuses a handshake that is none', async () => {
    const port = await serve(false)
    const status = await new Promise((resolve, reject) => {
      request({ port, host: '127.0.0.1', headers: { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '1', 'sec-websocket-key': 'x' } })
        .on('response', (r) => {
          r.resume()
          resolve(r.statusCode)
        })
        .on('error', reject)
        .end()
    })
    expect(status).toBe(400)
  })
})
