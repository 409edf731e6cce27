/** Watchers in a process of their own: says `open`, counts events until all watchers saw all, prints the result as JSON. */
import { readFileSync } from 'node:fs'
import type { Connection } from './cluster.ts'
import { HttpClient } from './http-client.ts'

const job = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as { connection: Connection; watchers: number; events: number }
const MARK = Buffer.from('"type":"ADDED"')
/** All watchers get the same bytes: one connection is read as events, the others are counted by bytes. */
const QUIET_MS = 10_000

const clients = await Promise.all(Array.from({ length: job.watchers }, () => HttpClient.open(job.connection)))
const list = await (await HttpClient.open(job.connection)).request('GET', '/api/v1/namespaces/default/configmaps?limit=1')
const version = /"resourceVersion":"(\d+)"/.exec(list.body.toString())?.[1]
let seen = 0
let first = 0
let last = 0
await new Promise<void>((resolve) => {
  const timer = setInterval(() => {
    if (first > 0 && performance.now() - last > QUIET_MS) finish()
  }, 500)
  const finish = () => {
    clearInterval(timer)
    resolve()
  }
  for (const client of clients) {
    let tail = Buffer.alloc(0)
    client.stream(`/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=${version}`, (chunk) => {
      const data = tail.length > 0 ? Buffer.concat([tail, chunk]) : chunk
      let at = 0
      for (let found = data.indexOf(MARK); found >= 0; found = data.indexOf(MARK, at)) {
        seen++
        at = found + MARK.length
      }
      tail = Buffer.from(data.subarray(Math.max(at, data.length - MARK.length + 1)))
      if (seen === 0) return
      last = performance.now()
      if (first === 0) first = last
      if (seen >= job.watchers * job.events) finish()
    })
  }
  setTimeout(() => console.log('open'), 300)
})
console.log(JSON.stringify({ seen, seconds: (last - first) / 1000 }))
process.exit(0)
