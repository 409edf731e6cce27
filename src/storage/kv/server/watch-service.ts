import type { ServerDuplexStream } from '@grpc/grpc-js'
import type { Clock, Timer } from '../../../base/clock.ts'
import type { Message } from '../etcdpb/codec.ts'
import { eventMessage, keyText } from '../etcdpb/convert.ts'
import type { KV, KVWatch } from '../kv.ts'
import type { HeaderOf } from './kv-service.ts'

const PROGRESS_MS = 600_000
/** Messages, and answers to progress requests, that may wait for a slow client; then its stream ends. */
const MAX_WAITING = 10_000
/** While more bytes or messages than these wait for a client, its watches are held and stay in the store's history. */
const HOLD_BYTES = 4 * 1024 * 1024
const HOLD_MESSAGES = 1000
/** Each watch of a stream may have taken a batch before it is held: together no more than this; then the stream ends. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024
const MAX_WATCHES = 10_000
const FRAGMENT_BYTES = 1.5 * 1024 * 1024

type Stream = ServerDuplexStream<Message, Message>

/** What an event takes on the wire, roughly. */
function eventBytes(event: Message): number {
  const kv = event['kv'] as Message
  const prev = event['prev_kv'] as Message | undefined
  return kvBytes(kv) + (prev ? kvBytes(prev) : 0) + 64
}

const kvBytes = (kv: Message) => (kv['value'] as Uint8Array).length + (kv['key'] as Uint8Array).length

/** Splits events so that each message stays below the limit of a client that asked for it. */
function* fragments(events: Message[]): Generator<{ events: Message[]; last: boolean }> {
  let part: Message[] = []
  let size = 0
  for (const event of events) {
    const bytes = eventBytes(event)
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

/** One client's stream of watches. It holds a bounded amount for a client that does not read. */
export function serveWatchStream(kv: KV, stream: Stream, options: { header: HeaderOf; clock: Clock }): void {
  const { header, clock } = options
  const watches = new Map<number, { watch: KVWatch; timer: Timer | undefined }>()
  let nextId = 0
  let waiting = 0
  let waitingBytes = 0
  let progressing = 0
  let over = false
  /** Watches that go on once the client has read. */
  let held: (() => void)[] = []

  const full = () => waitingBytes > HOLD_BYTES || waiting > HOLD_MESSAGES
  const release = () => {
    const resolves = held
    held = []
    for (const resolve of resolves) resolve()
  }
  const end = () => {
    over = true
    release()
    for (const { watch, timer } of watches.values()) {
      watch.cancel()
      timer?.cancel()
    }
    watches.clear()
  }
  const giveUp = () => {
    end()
    stream.destroy(new Error('etcdserver: the client does not keep up with its watches'))
  }
  const send = (message: Message, bytes = 0) => {
    if (over) return
    if (waiting >= MAX_WAITING || (waitingBytes > 0 && waitingBytes + bytes > MAX_WAITING_BYTES)) {
      giveUp()
      return
    }
    waiting++
    waitingBytes += bytes
    stream.write(message, () => {
      waiting--
      waitingBytes -= bytes
      if (held.length > 0 && !full()) release()
    })
  }
  /** @returns a promise while the client is behind */
  const sendEvents = (events: Message[], head: Message, fragmented: boolean): Promise<void> | undefined => {
    const parts = fragmented ? fragments(events) : [{ events, last: true }]
    for (const part of parts) {
      const bytes = part.events.reduce((sum, event) => sum + eventBytes(event), 0)
      send({ ...head, events: part.events, ...(fragmented ? { fragment: !part.last } : {}) }, bytes)
    }
    return over || !full() ? undefined : new Promise((resolve) => held.push(resolve))
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
        return wanted.length === 0 ? undefined : sendEvents(wanted, { header: header(revision), watch_id: id }, m['fragment'] === true)
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
      if (progressing >= MAX_WAITING) {
        giveUp()
        return
      }
      progressing++
      // Answered when all watches of the stream have come as far.
      Promise.all([...watches.values()].map(({ watch }) => watch.progress()))
        .then(
          (revisions) => send({ header: header(revisions.length > 0 ? Math.min(...revisions) : undefined), watch_id: -1 }),
          () => undefined,
        )
        .finally(() => {
          progressing--
        })
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
