import type { ServerDuplexStream } from '@grpc/grpc-js'
import type { Clock, Timer } from '../../../base/clock.ts'
import type { Message } from '../etcdpb/codec.ts'
import { eventMessage, keyText } from '../etcdpb/convert.ts'
import type { KV, KVWatch } from '../kv.ts'
import type { HeaderOf } from './kv-service.ts'

const PROGRESS_MS = 600_000
/** Messages that may wait for a slow client; then its stream ends. */
const MAX_WAITING = 10_000
const MAX_WATCHES = 10_000
const FRAGMENT_BYTES = 1.5 * 1024 * 1024

type Stream = ServerDuplexStream<Message, Message>

/** Splits events so that each message stays below the limit of a client that asked for it. */
function* fragments(events: Message[]): Generator<{ events: Message[]; last: boolean }> {
  let part: Message[] = []
  let size = 0
  for (const event of events) {
    const kv = event['kv'] as Message
    const bytes = (kv['value'] as Uint8Array).length + (kv['key'] as Uint8Array).length + 64
    if (part.length > 0 && size + bytes > FRAGMENT_BYTES) {
      yield { events: part, last: false }
      part = []
      size = 0
    }
    part.push(event)
    size += bytes
  }
  yield { events: part, last: true }
}

/** One client's stream of watches. */
export function serveWatchStream(kv: KV, stream: Stream, options: { header: HeaderOf; clock: Clock }): void {
  const { header, clock } = options
  const watches = new Map<number, { watch: KVWatch; timer: Timer | undefined }>()
  let nextId = 0
  let waiting = 0
  let over = false

  const end = () => {
    over = true
    for (const { watch, timer } of watches.values()) {
      watch.cancel()
      timer?.cancel()
    }
    watches.clear()
  }
  const send = (message: Message) => {
    if (over) return
    if (++waiting > MAX_WAITING) {
      end()
      stream.destroy(new Error('etcdserver: the client does not keep up with its watches'))
      return
    }
    stream.write(message, () => {
      waiting--
    })
  }

  const create = (m: Message) => {
    let id = m['watch_id'] as number
    if (id === 0) {
      while (watches.has(nextId)) nextId++
      id = nextId++
    } else if (watches.has(id)) {
      send({ header: header(), watch_id: -1, created: true, canceled: true, cancel_reason: 'mvcc: duplicate watch ID provided on the WatchStream' })
      return
    }
    if (watches.size >= MAX_WATCHES) {
      send({ header: header(), watch_id: -1, created: true, canceled: true, cancel_reason: 'etcdserver: too many watches on one stream' })
      return
    }
    const filters = new Set(m['filters'] as number[])
    // An empty key with an end is "from the first key".
    const key = (m['key'] as Uint8Array).length === 0 ? '\0' : keyText(m['key'])
    const rangeEnd = m['range_end'] as Uint8Array
    const prevKv = m['prev_kv'] as boolean
    send({ header: header(), watch_id: id, created: true })
    const watch = kv.watch({
      key,
      ...(rangeEnd.length > 0 ? { end: keyText(rangeEnd) } : {}),
      startRevision: m['start_revision'] as number,
      prevKv,
      onEvents: ({ revision, events }) => {
        const wanted = events.filter((e) => !(filters.has(0) && e.type === 'put') && !(filters.has(1) && e.type === 'delete')).map(eventMessage)
        if (wanted.length === 0) return
        if (!m['fragment']) {
          send({ header: header(revision), watch_id: id, events: wanted })
          return
        }
        for (const part of fragments(wanted)) send({ header: header(revision), watch_id: id, events: part.events, fragment: !part.last })
      },
      onClose: ({ compactRevision, error }) => {
        watches.get(id)?.timer?.cancel()
        watches.delete(id)
        send({
          header: header(),
          watch_id: id,
          canceled: true,
          ...(compactRevision === undefined
            ? { cancel_reason: error?.message ?? '' }
            : { compact_revision: compactRevision, cancel_reason: 'etcdserver: mvcc: required revision has been compacted' }),
        })
      },
    })
    const timer = m['progress_notify']
      ? clock.setInterval(() => {
          void watch.progress().then(
            (revision) => send({ header: header(revision), watch_id: id }),
            () => undefined,
          )
        }, PROGRESS_MS)
      : undefined
    watches.set(id, { watch, timer })
  }

  stream.on('data', (m: Message) => {
    const creation = m['create_request'] as Message | undefined
    const cancel = m['cancel_request'] as Message | undefined
    if (creation) create(creation)
    else if (cancel) {
      const id = cancel['watch_id'] as number
      const found = watches.get(id)
      if (!found) return
      found.watch.cancel()
      found.timer?.cancel()
      watches.delete(id)
      send({ header: header(), watch_id: id, canceled: true })
    } else if (m['progress_request']) {
      // Answered when all watches of the stream have come as far.
      Promise.all([...watches.values()].map(({ watch }) => watch.progress())).then(
        (revisions) => send({ header: header(revisions.length > 0 ? Math.min(...revisions) : undefined), watch_id: -1 }),
        () => undefined,
      )
    }
  })
  stream.on('end', () => {
    end()
    stream.end()
  })
  stream.on('cancelled', end)
  stream.on('error', end)
  stream.on('close', end)
}
