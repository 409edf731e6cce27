import type { ResourceInfo } from '../../api/scheme.ts'
import { newInternalError, StatusError } from '../../apimachinery/errors.ts'
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
  if (selection.filter) options.filter = selection.filter
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
  frame(event: StorageEvent): Uint8Array | undefined
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
        if (sink.write(joinFrames(events, encoder), events.length)) return sink.drained?.()
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

function joinFrames(events: readonly StorageEvent[], encoder: EventEncoder): Uint8Array {
  if (events.length === 1) return encoder.frame(events[0] as StorageEvent) ?? EMPTY
  const frames: Uint8Array[] = []
  for (const event of events) {
    const frame = encoder.frame(event)
    if (frame) frames.push(frame)
  }
  return Buffer.concat(frames)
}

const EMPTY = new Uint8Array(0)

function eventEncoder(environment: HandlerEnvironment, target: Target, form: Negotiated): EventEncoder {
  const { endpoint } = target
  const plainJSON = form.mediaType === JSON_TYPE && form.as === undefined
  if (plainJSON && !endpoint.converts) return new JSONEvents(endpoint)
  const maker = form.as === 'Table' ? environment.responder.tableMaker(target.context, endpoint, form) : undefined
  return new ShapedEvents(environment, endpoint, form, maker)
}

const HEADS = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
} as const
const TAIL = Buffer.from('}\n')

/** JSON of the stored version: the line of an event is made once and shared by all who watch. */
class JSONEvents implements EventEncoder {
  private readonly endpoint: Endpoint

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint
  }

  frame(event: StorageEvent): Uint8Array {
    if (event.type === 'BOOKMARK')
      return Buffer.from(`${JSON.stringify({ type: 'BOOKMARK', object: bookmarkObject(this.endpoint.info, event, this.endpoint.zero) })}\n`)
    const { object } = event
    object.wire ??= new Map()
    const known = object.wire.get(event.type)
    if (known) return known
    const head = HEADS[event.type]
    const body = object.encoded()
    const line = Buffer.allocUnsafe(head.length + body.length + TAIL.length)
    line.set(head, 0)
    line.set(body, head.length)
    line.set(TAIL, head.length + body.length)
    object.wire.set(event.type, line)
    return line
  }

  error(status: unknown): Uint8Array {
    return Buffer.from(`${JSON.stringify({ type: 'ERROR', object: status })}\n`)
  }

  decoded(event: StorageEvent): { type: string; object: unknown } {
    // For clients of this process, which read nothing but a bookmark's metadata: what the empty kind prints is made for the wire alone.
    if (event.type === 'BOOKMARK') return { type: 'BOOKMARK', object: bookmarkObject(this.endpoint.info, event) }
    return { type: event.type, object: event.object.object }
  }
}

/** Every other form. */
class ShapedEvents implements EventEncoder {
  private readonly environment: HandlerEnvironment
  private readonly endpoint: Endpoint
  private readonly form: Negotiated
  private readonly maker: TableMaker | undefined
  private first = true

  constructor(environment: HandlerEnvironment, endpoint: Endpoint, form: Negotiated, maker: TableMaker | undefined) {
    this.environment = environment
    this.endpoint = endpoint
    this.form = form
    this.maker = maker
  }

  frame(event: StorageEvent): Uint8Array | undefined {
    if (this.form.as === 'PartialObjectMetadataList') return undefined
    const { type, object } = this.decoded(event)
    return this.encode(type, object)
  }

  error(status: unknown): Uint8Array {
    return this.encode('ERROR', status)
  }

  decoded(event: StorageEvent): { type: string; object: unknown } {
    const object = event.type === 'BOOKMARK' ? bookmarkObject(this.endpoint.info, event, this.endpoint.zero) : this.endpoint.fromStorage(event.object.object)
    return { type: event.type, object: this.shape(object) }
  }

  private shape(object: KubeObject): unknown {
    if (this.maker) {
      const withColumns = this.first
      this.first = false
      return this.maker.single(object, withColumns)
    }
    if (this.form.as === 'PartialObjectMetadata') return partialMetadata(object, this.form.asVersion as string)
    return object
  }

  private encode(type: string, object: unknown): Uint8Array {
    if (this.form.mediaType === JSON_TYPE) return Buffer.from(`${JSON.stringify({ type, object })}\n`)
    return this.environment.responder.encoder.watchFrame(type, object)
  }
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
