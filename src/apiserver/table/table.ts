import { newBadRequest } from '../../apimachinery/errors.ts'
import { encodeJSON } from '../../apimachinery/json/index.ts'
import type { TableColumnDefinition } from '../../apimachinery/meta/v1/types.generated.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import { quote } from '../../apimachinery/quote.ts'
import { yielder } from '../../base/yielder.ts'
import type { StoredObject } from '../../storage/interface.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { type ItemForm, itemsBody } from '../negotiation/pieces.ts'
import type { ApiResponse } from '../request/api-request.ts'
import type { RequestContext } from '../request/context.ts'

export type IncludeObject = 'Metadata' | 'Object' | 'None'

interface ListMeta {
  resourceVersion?: string
  continue?: string
  remainingItemCount?: number
}

const DEFAULT_COLUMNS: readonly TableColumnDefinition[] = [
  {
    name: 'Name',
    type: 'string',
    format: 'name',
    description:
      'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names',
    priority: 0,
  },
  {
    name: 'Created At',
    type: 'date',
    format: '',
    description:
      'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata',
    priority: 0,
  },
]

export function includeObjectOf(context: RequestContext): IncludeObject {
  const value = context.query.get('includeObject') ?? ''
  switch (value) {
    case '':
    case 'Metadata':
      return 'Metadata'
    case 'Object':
    case 'None':
      return value
    default:
      throw newBadRequest(
        `Unable to convert to Table as requested: includeObject: Invalid value: ${quote(value)}: must be 'Metadata', 'Object', 'None', or empty`,
      )
  }
}

/** Objects as rows: what kubectl get prints. */
export class TableMaker {
  private readonly endpoint: Endpoint
  private readonly include: IncludeObject
  private readonly version: string
  private readonly now: () => number

  /** @param version v1 or v1beta1 @param now ms; asked for each row, since a watch makes rows as long as it lasts */
  constructor(endpoint: Endpoint, include: IncludeObject, version: string, now: () => number) {
    this.endpoint = endpoint
    this.include = include
    this.version = version
    this.now = now
  }

  /** `objects` are of the spoken version. */
  async table(objects: readonly KubeObject[], meta: ListMeta): Promise<Record<string, unknown>> {
    const tick = yielder()
    const rows: unknown[] = []
    for (const object of objects) {
      const pause = tick()
      if (pause) await pause
      rows.push(this.row(object))
    }
    return this.wrap(rows, meta, this.columns())
  }

  /** The same as JSON, out of stored objects whose version is the spoken one: metadata goes out as it is stored. */
  async body(items: readonly StoredObject[], meta: ListMeta): Promise<Pick<ApiResponse, 'bytes' | 'pieces'>> {
    const tick = yielder()
    const rows: RowText[] = []
    for (const stored of items) {
      const pause = tick()
      if (pause) await pause
      const { object: _object, ...row } = this.row(stored.object)
      rows.push({ text: `${encodeJSON(row).slice(0, -1)},"object":`, stored })
    }
    const empty = encodeJSON(this.wrap([], meta, this.columns()))
    const form = this.include === 'None' ? NO_OBJECTS : this.include === 'Object' ? OBJECTS : metadataOnly(this.version)
    return itemsBody(empty.slice(0, -2), rows, form, ']}\n')
  }

  /** A table of one, as watch events are. */
  single(object: KubeObject, withColumns: boolean): Record<string, unknown> {
    return this.wrap([this.row(object)], { resourceVersion: object.metadata.resourceVersion ?? '' }, withColumns ? this.columns() : null)
  }

  /** A bookmark: a row-less table would lose the version, so it travels in a row as upstream's does. */
  bookmark(object: KubeObject, withColumns: boolean): Record<string, unknown> {
    return this.single(object, withColumns)
  }

  columns(): readonly TableColumnDefinition[] {
    return this.endpoint.columns?.columns ?? DEFAULT_COLUMNS
  }

  private wrap(rows: unknown[], meta: ListMeta, columns: readonly TableColumnDefinition[] | null): Record<string, unknown> {
    return {
      kind: 'Table',
      apiVersion: `meta.k8s.io/${this.version}`,
      metadata: { ...meta },
      columnDefinitions: columns,
      rows,
    }
  }

  private row(object: KubeObject): Record<string, unknown> {
    const stored = this.endpoint.converts ? this.endpoint.toStorage(object) : object
    const columns = this.endpoint.columns
    const cells = columns ? columns.cells(stored as never, this.now()) : [object.metadata.name ?? '', object.metadata.creationTimestamp ?? '']
    const conditions = columns?.conditions?.(stored as never)
    return {
      cells,
      ...(conditions?.length ? { conditions } : {}),
      object: this.objectOf(object),
    }
  }

  private objectOf(object: KubeObject): unknown {
    if (this.include === 'None') return null
    if (this.include === 'Object') return object
    return partialMetadata(object, this.version)
  }
}

/** A row: its JSON up to its object, and what that is made from. */
interface RowText {
  readonly text: string
  readonly stored: StoredObject
}

const CLOSE = 125

const NO_OBJECTS: ItemForm<RowText> = {
  size: ({ text }) => Buffer.byteLength(text) + 5,
  write: ({ text }, out, at) => {
    const end = at + out.write(text, at, 'utf8')
    return end + out.write('null}', end, 'latin1')
  },
}

const OBJECTS: ItemForm<RowText> = {
  size: ({ text, stored }) => Buffer.byteLength(text) + stored.size + 1,
  write: ({ text, stored }, out, at) => {
    const end = stored.writeTo(out, at + out.write(text, at, 'utf8'))
    out[end] = CLOSE
    return end + 1
  },
}

function metadataOnly(version: string): ItemForm<RowText> {
  const head = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}","metadata":`
  return {
    size: ({ text, stored }) => Buffer.byteLength(text) + head.length + stored.metadataSize + 2,
    write: ({ text, stored }, out, at) => {
      const begin = at + out.write(text + head, at, 'utf8')
      const end = stored.writeMetadataTo(out, begin)
      out[end] = CLOSE
      out[end + 1] = CLOSE
      return end + 2
    },
  }
}

export function partialMetadata(object: KubeObject, version: string): KubeObject {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata }
}
