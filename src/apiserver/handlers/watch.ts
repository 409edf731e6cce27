import type { ResourceInfo } from '../../api/scheme.ts'
import { newInternalError, StatusError } from '../../apimachinery/errors.ts'
import { encodeJSON } from '../../apimachinery/json/index.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import type { Timer } from '../../base/clock.ts'
import type { StorageEvent, StorageWatch, StorageWatchOptions } from '../../storage/interface.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { JSON_TYPE, type Negotiated, PROTOBUF_TYPE } from '../negotiation/accept.ts'
import type { ResourceStore } from '../registry/resource-store.ts'
import type { ApiResponse, WatchBody, WatchHandle, WatchSink } from '../request/api-request.ts'
import { badVersionError, type ListRequest, parseResourceVersion } from '../request/list-options.ts'
import { partialMetadata, type TableMaker } from '../table/table.ts'
import type { HandlerEnvironment, Target } from './request-scope.ts'
import type { Selection } from './selectors.ts'

const MIN_TIMEOUT_SECONDS = 1800

/** WATCH: the present state where it was asked for, then every change until the deadline. */
export async function handleWatch(
  environment: HandlerEnvironment,
  target: Target,
  request: ListRequest,
  selection: Selection,
  form: Negotiated,
): Promise<ApiResponse> {
  const { context, endpoint } = target
  let version: number | undefined
  if (request.resourceVersion !== '') {
    version = parseResourceVersion(request.resourceVersion)
    if (version === undefined) throw badVersionError(request.resourceVersion)
  }
  const options: Omit<StorageWatchOptions, 'onEvents' | 'onClose'> = {}
  if (target.namespace !== '') options.namespace = target.namespace
  else if (selection.namespace) options.namespace = selection.namespace
  if (selection.name !== undefined && selection.name !== '') options.name = selection.name
  if (selection.filter) {
    options.filter = selection.filter
    options.filterName = [endpoint.info.version, request.labelSelector, request.fieldSelector, target.name].join('\0')
  }
  if (version !== undefined) options.resourceVersion = version
  if (request.sendInitialEvents !== undefined) options.sendInitialEvents = request.sendInitialEvents
  else if (version === undefined || version === 0) options.sendInitialEvents = true
  if (request.allowWatchBookmarks) options.bookmarks = true
  const seconds =
    request.timeoutSeconds && request.timeoutSeconds > 0 ? request.timeoutSeconds : MIN_TIMEOUT_SECONDS + environment.random.int(MIN_TIMEOUT_SECONDS)
  const deadlineAt = environment.clock.monotonic() + seconds * 1000
  options.timeoutMs = seconds * 1000
  const encoder = eventEncoder(environment, target, form)
  const watch = new WatchRun(environment, endpoint, options, encoder, deadlineAt, context.request.inProcess)
  return {
    status: 200,
    headers: { 'content-type': form.mediaType === PROTOBUF_TYPE ? `${PROTOBUF_TYPE};stream=watch` : JSON_TYPE },
    watch,
  }
}

/** Events in one form. */
interface EventEncoder {
  /** All of them, one after another; the same bytes for everybody who is given the same array. */
  frames(events: readonly StorageEvent[]): Uint8Array
  error(status: unknown): Uint8Array
  /** For in-process readers. */
  decoded(event: StorageEvent): { type: string; object: unknown }
}

class WatchRun implements WatchBody {
  private readonly environment: HandlerEnvironment
  private readonly endpoint: Endpoint
  private readonly options: Omit<StorageWatchOptions, 'onEvents' | 'onClose'>
  private readonly encoder: EventEncoder
  private readonly deadlineAt: number
  private readonly inProcess: boolean

  constructor(
    environment: HandlerEnvironment,
    endpoint: Endpoint,
    options: Omit<StorageWatchOptions, 'onEvents' | 'onClose'>,
    encoder: EventEncoder,
    deadlineAt: number,
    inProcess: boolean,
  ) {
    this.environment = environment
    this.endpoint = endpoint
    this.options = options
    this.encoder = encoder
    this.deadlineAt = deadlineAt
    this.inProcess = inProcess
  }

  start(sink: WatchSink): WatchHandle {
    let timer: Timer | undefined
    let source: StorageWatch | undefined
    let ended = false
    const end = () => {
      if (ended) return
      ended = true
      timer?.cancel()
      source?.stop()
      sink.end()
    }
    timer = this.environment.clock.setTimeout(end, Math.max(0, this.deadlineAt - this.environment.clock.monotonic()))
    const { encoder } = this
    source = (this.endpoint.store as ResourceStore).storage.watch({
      ...this.options,
      onEvents: (events) => {
        if (ended) return undefined
        if (this.inProcess) {
          sink.events?.(events.map((e) => encoder.decoded(e)))
          return undefined
        }
        if (sink.write(encoder.frames(events), events.length)) return sink.drained?.()
        end()
        return undefined
      },
      onClose: (error) => {
        if (ended) return
        if (error) {
          const status = (error instanceof StatusError ? error : newInternalError(error)).toStatus()
          if (this.inProcess) sink.events?.([{ type: 'ERROR', object: status }])
          else sink.write(encoder.error(status))
        }
        end()
      },
    })
    if (ended) source.stop()
    return { stop: end }
  }
}

const encoders = new WeakMap<Endpoint, Map<string, EventEncoder>>()

/** One encoder for all watches of an endpoint that want the same form; tables have a state of their own. */
function eventEncoder(environment: HandlerEnvironment, target: Target, form: Negotiated): EventEncoder {
  const { endpoint } = target
  if (form.as === 'Table') return new TableEvents(endpoint, environment.responder.tableMaker(target.context, endpoint, form))
  let known = encoders.get(endpoint)
  if (!known) {
    known = new Map()
    encoders.set(endpoint, known)
  }
  const name = `${form.mediaType} ${form.as} ${form.asVersion}`
  let encoder = known.get(name)
  if (!encoder) {
    const plainJSON = form.mediaType === JSON_TYPE && form.as === undefined && !endpoint.converts
    encoder = plainJSON ? new JSONEvents(endpoint) : new ShapedEvents(environment, endpoint, form)
    known.set(name, encoder)
  }
  return encoder
}

/** Frames of events lately encoded, kept for other watches that see the same. */
const MEMO_FRAMES = 64
const MEMO_BYTES = 128 * 1024
const EMPTY = new Uint8Array(0)

/** Encodes an event once for all watches, and a batch of them too. */
abstract class SharedEvents implements EventEncoder {
  protected readonly endpoint: Endpoint
  private batch: readonly StorageEvent[] | undefined
  private joined: Uint8Array = EMPTY
  private readonly memo = new Map<StorageEvent, Uint8Array>()
  private memoBytes = 0

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint
  }

  protected abstract frame(event: StorageEvent): Uint8Array
  abstract error(status: unknown): Uint8Array
  abstract decoded(event: StorageEvent): { type: string; object: unknown }

  frames(events: readonly StorageEvent[]): Uint8Array {
    if (events.length === 1) return this.remembered(events[0] as StorageEvent)
    if (this.batch === events) return this.joined
    this.joined = Buffer.concat(events.map((event) => this.remembered(event)))
    this.batch = events
    return this.joined
  }

  private remembered(event: StorageEvent): Uint8Array {
    const known = this.memo.get(event)
    if (known) return known
    const frame = this.frame(event)
    if (frame.length > MEMO_BYTES) return frame
    this.memo.set(event, frame)
    this.memoBytes += frame.length
    for (const [old, { length }] of this.memo) {
      if (this.memo.size <= MEMO_FRAMES && this.memoBytes <= MEMO_BYTES) break
      this.memo.delete(old)
      this.memoBytes -= length
    }
    return frame
  }
}

const HEADS = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
} as const
const TAIL = Buffer.from('}\n')

/** JSON of the stored version: the stored bytes as they are. */
class JSONEvents extends SharedEvents {
  protected frame(event: StorageEvent): Uint8Array {
    if (event.type === 'BOOKMARK') return jsonLine('BOOKMARK', spokenObject(this.endpoint, event))
    const head = HEADS[event.type]
    const body = event.object.encoded()
    const line = Buffer.allocUnsafe(head.length + body.length + TAIL.length)
    line.set(head, 0)
    line.set(body, head.length)
    line.set(TAIL, head.length + body.length)
    return line
  }

  error(status: unknown): Uint8Array {
    return jsonLine('ERROR', status)
  }

  decoded(event: StorageEvent): { type: string; object: unknown } {
    // For clients of this process, which read nothing but a bookmark's metadata: what the empty kind prints is made for the wire alone.
    if (event.type === 'BOOKMARK') return { type: 'BOOKMARK', object: bookmarkObject(this.endpoint.info, event) }
    return { type: event.type, object: event.object.object }
  }
}

/** Other versions, protobuf, metadata only. */
class ShapedEvents extends SharedEvents {
  private readonly environment: HandlerEnvironment
  private readonly form: Negotiated

  constructor(environment: HandlerEnvironment, endpoint: Endpoint, form: Negotiated) {
    super(endpoint)
    this.environment = environment
    this.form = form
  }

  protected frame(event: StorageEvent): Uint8Array {
    if (this.form.as === 'PartialObjectMetadataList') return EMPTY
    const { type, object } = this.decoded(event)
    return this.encode(type, object)
  }

  error(status: unknown): Uint8Array {
    return this.encode('ERROR', status)
  }

  decoded(event: StorageEvent): { type: string; object: unknown } {
    if (this.form.as !== 'PartialObjectMetadata') return { type: event.type, object: spokenObject(this.endpoint, event) }
    // Of its metadata alone: what the empty kind prints need not be known.
    const object = event.type === 'BOOKMARK' ? bookmarkObject(this.endpoint.info, event) : this.endpoint.fromStorage(event.object.object)
    return { type: event.type, object: partialMetadata(object, this.form.asVersion as string) }
  }

  private encode(type: string, object: unknown): Uint8Array {
    return this.form.mediaType === JSON_TYPE ? jsonLine(type, object) : this.environment.responder.encoder.watchFrame(type, object)
  }
}

/** Tables of one row; the first one tells the columns. */
class TableEvents implements EventEncoder {
  private readonly endpoint: Endpoint
  private readonly maker: TableMaker
  private first = true

  constructor(endpoint: Endpoint, maker: TableMaker) {
    this.endpoint = endpoint
    this.maker = maker
  }

  frames(events: readonly StorageEvent[]): Uint8Array {
    return Buffer.concat(
      events.map((event) => {
        const { type, object } = this.decoded(event)
        return jsonLine(type, object)
      }),
    )
  }

  error(status: unknown): Uint8Array {
    return jsonLine('ERROR', status)
  }

  decoded(event: StorageEvent): { type: string; object: unknown } {
    const withColumns = this.first
    this.first = false
    return { type: event.type, object: this.maker.single(spokenObject(this.endpoint, event), withColumns) }
  }
}

function jsonLine(type: string, object: unknown): Uint8Array {
  return Buffer.from(`${encodeJSON({ type, object })}\n`)
}

function spokenObject(endpoint: Endpoint, event: StorageEvent): KubeObject {
  return event.type === 'BOOKMARK' ? bookmarkObject(endpoint.info, event, endpoint.zero) : endpoint.fromStorage(event.object.object)
}

function bookmarkObject(info: ResourceInfo, event: Extract<StorageEvent, { type: 'BOOKMARK' }>, zero: Readonly<Record<string, unknown>> = {}): KubeObject {
  return {
    kind: info.kind,
    apiVersion: info.group === '' ? info.version : `${info.group}/${info.version}`,
    ...zero,
    metadata: {
      resourceVersion: String(event.resourceVersion),
      ...(event.initialEventsEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
    },
  }
}
