import { yielder } from '../../base/yielder.ts'
import type { ApiResponse } from '../request/api-request.ts'

const PIECE_BYTES = 256 * 1024
/** Items handled before the clock is looked at. */
const STEP = 32
const COMMA = 44

/** How items are written into a body. */
export interface ItemForm<T> {
  size(item: T): number
  /** @returns the index after the item */
  write(item: T, out: Buffer, at: number): number
}

/** A body of `head`, then the items with commas in between, then `tail`; when it is long never in memory as a whole, and giving the loop back. */
export async function itemsBody<T>(head: string, items: readonly T[], form: ItemForm<T>, tail: string): Promise<Pick<ApiResponse, 'bytes' | 'pieces'>> {
  const tick = yielder()
  let length = Buffer.byteLength(head) + tail.length + Math.max(0, items.length - 1)
  for (let i = 0; i < items.length; i++) {
    length += form.size(items[i] as T)
    if (i % STEP !== 0) continue
    const pause = tick()
    if (pause) await pause
  }
  if (length > PIECE_BYTES) return { pieces: { length, make: () => make(head, items, form, tail) } }
  const bytes = Buffer.allocUnsafe(length)
  let at = bytes.write(head, 0, 'utf8')
  for (let i = 0; i < items.length; i++) {
    if (i > 0) bytes[at++] = COMMA
    at = form.write(items[i] as T, bytes, at)
  }
  bytes.write(tail, at, 'latin1')
  return { bytes }
}

async function* make<T>(head: string, items: readonly T[], form: ItemForm<T>, tail: string): AsyncGenerator<Uint8Array> {
  const tick = yielder()
  let out = Buffer.allocUnsafe(Math.max(PIECE_BYTES, Buffer.byteLength(head)))
  let at = out.write(head, 0, 'utf8')
  for (let i = 0; i < items.length; i++) {
    const item = items[i] as T
    const need = form.size(item) + 1
    if (at + need > out.length) {
      yield out.subarray(0, at)
      out = Buffer.allocUnsafe(Math.max(PIECE_BYTES, need))
      at = 0
    }
    if (i > 0) out[at++] = COMMA
    at = form.write(item, out, at)
    if (i % STEP !== 0) continue
    const pause = tick()
    if (pause) await pause
  }
  yield out.subarray(0, at)
  yield Buffer.from(tail, 'latin1')
}
