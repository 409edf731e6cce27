import type { ClientDuplexStream } from '@grpc/grpc-js'
import type { Message } from '../etcdpb/codec.ts'
import { eventOf, keyBytes } from '../etcdpb/convert.ts'
import { type KVEvent, type KVWatch, StoreUnavailableError, type WatchRequest } from '../kv.ts'
import { fromGrpc } from './channel.ts'

type Stream = ClientDuplexStream<Message, Message>

/**
 * One watch on a gRPC stream of its own. A broken stream ends the watch with an error: whoever watches starts again from what it has
 * seen, which is the rule for every engine.
 */
export class RemoteWatch implements KVWatch {
  private readonly stream: Stream
  private readonly request: WatchRequest
  private readonly onRevision: (revision: number) => void
  private readonly onOver: (watch: RemoteWatch) => void
  private over = false
  private created = false
  private behind: boolean | undefined
  private onCreated: (() => void)[] = []
  /** Everything up to here has been delivered. */
  private seen = 0
  private parts: KVEvent[] = []
  private waiting: { resolve(revision: number): void; reject(error: Error): void }[] = []

  constructor(stream: Stream, request: WatchRequest, hooks: { onRevision(revision: number): void; onOver(watch: RemoteWatch): void }) {
    this.stream = stream
    this.request = request
    this.onRevision = hooks.onRevision
    this.onOver = hooks.onOver
    stream.on('data', (m: Message) => this.receive(m))
    stream.on('error', (e) => this.end({ error: fromGrpc(e) }))
    stream.on('end', () => this.end({ error: new StoreUnavailableError('etcdserver: the watch stream ended') }))
    stream.write({
      create_request: {
        key: keyBytes(request.key),
        ...(request.end ? { range_end: keyBytes(request.end) } : {}),
        start_revision: request.startRevision ?? 0,
        progress_notify: false,
        filters: [],
        prev_kv: request.prevKv ?? false,
        fragment: true,
      },
    })
  }

  cancel(): void {
    if (this.over) return
    this.finish(new StoreUnavailableError('the watch was cancelled'))
    this.stream.cancel()
  }

  /** Whether the watch began below the store's revision; true once only. */
  async startedBehind(): Promise<boolean> {
    if (!this.created && !this.over) await new Promise<void>((resolve) => this.onCreated.push(resolve))
    const behind = this.behind === true
    this.behind = false
    return behind
  }

  /** Progress requests without an answer. */
  get asked(): number {
    return this.waiting.length
  }

  progress(): Promise<number> {
    if (this.over) return Promise.reject(new StoreUnavailableError('the watch has ended'))
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject })
      if (this.created) this.stream.write({ progress_request: {} })
    })
  }

  /** The store goes away. */
  end(reason: { compactRevision?: number; error?: Error }): void {
    if (this.over) return
    this.finish(reason.error ?? new StoreUnavailableError('the watch has ended'))
    this.stream.cancel()
    this.request.onClose?.(reason)
  }

  private finish(error: Error): void {
    this.over = true
    this.wakeCreated()
    const { waiting } = this
    this.waiting = []
    for (const { reject } of waiting) reject(error)
    this.onOver(this)
  }

  private wakeCreated(): void {
    for (const resolve of this.onCreated.splice(0)) resolve()
  }

  private receive(m: Message): void {
    if (this.over) return
    const revision = ((m['header'] as Message | undefined)?.['revision'] as number | undefined) ?? 0
    this.onRevision(revision)
    if (m['canceled']) {
      const compacted = m['compact_revision'] as number
      this.end(compacted > 0 ? { compactRevision: compacted } : { error: new StoreUnavailableError(m['cancel_reason'] as string) })
      return
    }
    if (m['created']) {
      this.created = true
      this.behind = (this.request.startRevision ?? 0) <= revision
      this.wakeCreated()
      for (let i = 0; i < this.waiting.length; i++) this.stream.write({ progress_request: {} })
      return
    }
    const events = (m['events'] as Message[]).map(eventOf)
    if (events.length === 0) {
      // A progress notification: on this stream there is this watch alone.
      this.seen = Math.max(this.seen, revision)
      const waiter = this.waiting.shift()
      waiter?.resolve(this.seen)
      return
    }
    this.parts = this.parts.length > 0 ? [...this.parts, ...events] : events
    if (m['fragment']) return
    const all = this.parts
    this.parts = []
    this.seen = Math.max(this.seen, (all[all.length - 1] as KVEvent).kv.modRevision)
    const taken = this.request.onEvents({ revision: this.seen, events: all })
    if (!(taken instanceof Promise)) return
    this.stream.pause()
    void taken.then(() => this.stream.resume())
  }
}
