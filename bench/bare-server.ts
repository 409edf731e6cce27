/**
 * The least a Node.js server can do for the same requests, as the measure of what k8ts adds: HTTPS with client certificates asked for,
 * creates that are parsed, get what a write adds, are kept in LMDB and told to every watch as the same bytes; one object and a list that are
 * buffers made beforehand. Reads its certificates as JSON from the file it is given, prints its port, lives until its input ends.
 */
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { open } from 'lmdb'

const job = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as { ca: string; cert: string; key: string; dir: string; listBytes: number }
mkdirSync(job.dir, { recursive: true })
const store = open({ path: `${job.dir}/store.mdb`, encoding: 'binary', pageSize: 8192, noSubdir: true })
const watches = new Set<ServerResponse>()
const item = `{"metadata":{"name":"x","uid":"x"},"data":{"payload":"${'x'.repeat(1400)}"}}`
const list = Buffer.from(`{"kind":"List","items":[${Array.from({ length: Math.round(job.listBytes / (item.length + 1)) }, () => item).join(',')}]}`)
const one = Buffer.from(`{"kind":"ConfigMap","metadata":{"name":"x"},"data":{"payload":"${'x'.repeat(900)}"}}\n`)
let revision = 0
let lines: string[] = []

function tell(): void {
  const events = Buffer.from(lines.join(''))
  lines = []
  for (const watch of watches) watch.write(events)
}

async function create(body: string, out: ServerResponse): Promise<void> {
  const object = JSON.parse(body) as { metadata: Record<string, unknown>; data: Record<string, string> }
  const time = new Date().toISOString()
  object.metadata = { ...object.metadata, uid: randomUUID(), resourceVersion: String(++revision), creationTimestamp: time }
  const fields = Object.fromEntries(Object.keys(object.data).map((k) => [`f:${k}`, {}]))
  object.metadata.managedFields = [{ manager: 'bench', operation: 'Update', apiVersion: 'v1', time, fieldsType: 'FieldsV1', fieldsV1: { 'f:data': fields } }]
  const text = JSON.stringify(object)
  const bytes = Buffer.from(text)
  await Promise.all([store.put(`r${revision}`, bytes), store.put(`k${object.metadata.name as string}`, bytes)])
  out.writeHead(201, { 'content-type': 'application/json', 'content-length': bytes.length }).end(text)
  if (lines.push(`{"type":"ADDED","object":${text}}\n`) === 1) setImmediate(tell)
}

const server = createServer({ ca: job.ca, cert: job.cert, key: job.key, requestCert: true, rejectUnauthorized: false }, (request, out) => {
  if (request.method === 'POST') {
    let body = ''
    request.setEncoding('utf8').on('data', (text) => (body += text))
    request.on('end', () => void create(body, out))
  } else if (request.url?.includes('watch=1')) {
    out.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    watches.add(out)
    out.on('close', () => watches.delete(out))
  } else if (request.url?.includes('limit=1')) {
    const body = `{"metadata":{"resourceVersion":"${revision}"}}`
    out.writeHead(200, { 'content-length': body.length }).end(body)
  } else {
    const bytes = request.url?.includes('/configmaps/') ? one : list
    out.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length }).end(bytes)
  }
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
process.stdin.on('end', () => process.exit(0)).resume()
