import { deepFreeze } from '../../base/index.ts'
import type { WatchEvent } from '../client.ts'

/** The longest line a watch may carry; a server that sends more is cut off. */
const MAX_LINE_BYTES = 64 * 1024 * 1024

/** Splits a byte stream at line feeds. Throws RangeError when a line passes the limit. */
export async function* lines(source: AsyncIterable<Uint8Array>, maxBytes = MAX_LINE_BYTES): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let parts: string[] = []
  let held = 0
  for await (const chunk of source) {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(10, start)
      if (end < 0) break
      parts.push(decoder.decode(chunk.subarray(start, end), { stream: true }) + decoder.decode())
      start = end + 1
      const line = parts.length === 1 ? (parts[0] as string) : parts.join('')
      parts = []
      held = 0
      if (line.trim() !== '') yield line
    }
    if (start < chunk.length) {
      held += chunk.length - start
      if (held > maxBytes) throw new RangeError(`watch: a line is longer than ${maxBytes} bytes`)
      parts.push(decoder.decode(chunk.subarray(start), { stream: true }))
    }
  }
  parts.push(decoder.decode())
  const rest = parts.join('')
  if (rest.trim() !== '') yield rest
}

/** Watch events of a JSON stream; a cut last line ends the stream. Objects come out frozen. */
export async function* watchEvents(source: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent> {
  for await (const line of lines(source)) {
    let event: WatchEvent
    try {
      event = JSON.parse(line) as WatchEvent
    } catch {
      return
    }
    yield deepFreeze(event)
  }
}
