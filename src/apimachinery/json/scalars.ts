import { formatDuration, parseDuration } from '../duration.ts'
import { canonicalQuantity } from '../quantity.ts'
import { canonicalMicroTime, canonicalTime } from '../time.ts'

/** A value that its Go type refuses; the message is Go's. */
export class DecodeError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'DecodeError'
  }
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** The canonical base64 text of bytes; throws DecodeError with Go's text. */
export function canonicalBase64(text: string): string {
  if (text.length % 4 === 0 && BASE64.test(text)) {
    if (!text.endsWith('=')) return text
    const double = text.endsWith('==')
    const last = ALPHABET.indexOf(text[text.length - (double ? 3 : 2)] as string)
    if ((last & (double ? 15 : 3)) === 0) return text
    return text.slice(0, double ? -3 : -2) + ALPHABET[last & (double ? 48 : 60)] + (double ? '==' : '=')
  }
  const bad = base64Error(text)
  if (bad !== undefined) throw new DecodeError(`illegal base64 data at input byte ${bad}`)
  return canonicalBase64(text.replace(/[\r\n]/g, ''))
}

/** Index that Go's decoder would complain of; undefined when the text is right but for line breaks. */
function base64Error(text: string): number | undefined {
  const length = text.length
  const newline = (i: number) => text[i] === '\n' || text[i] === '\r'
  let i = 0
  while (i < length) {
    let j = 0
    while (j < 4) {
      if (i === length) {
        if (j === 0) return undefined
        return i - j
      }
      const c = text[i++] as string
      if (c === '\n' || c === '\r') continue
      if (c === '=') {
        if (j < 2) return i - 1
        if (j === 2) {
          while (i < length && newline(i)) i++
          if (i === length) return length
          if (text[i] !== '=') return i - 1
          i++
        }
        while (i < length && newline(i)) i++
        return i < length ? i : undefined
      }
      if (!ALPHABET.includes(c)) return i - 1
      j++
    }
  }
  return undefined
}

export function quantityText(text: string): string {
  try {
    return canonicalQuantity(text)
  } catch (e) {
    throw new DecodeError((e as Error).message)
  }
}

export function timeText(text: string): string | null {
  try {
    return canonicalTime(text)
  } catch (e) {
    throw new DecodeError((e as Error).message)
  }
}

export function microTimeText(text: string): string | null {
  try {
    return canonicalMicroTime(text)
  } catch (e) {
    throw new DecodeError((e as Error).message)
  }
}

export function durationText(text: string): string {
  try {
    return formatDuration(parseDuration(text))
  } catch (e) {
    throw new DecodeError((e as Error).message)
  }
}
