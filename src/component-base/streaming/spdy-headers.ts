import { constants, inflateRawSync } from 'node:zlib'

/** A header block of SPDY/3.1: names in lower case; several values of one name are joined by NUL. */
export type SpdyHeaders = Record<string, string>

/** What a peer did wrong on the connection as a whole: the connection cannot go on. */
export class SpdyProtocolError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SpdyProtocolError'
  }
}

const WORDS =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow authorization cache-control connection ' +
  'content-base content-encoding content-language content-length content-location content-md5 content-range content-type date etag expect expires from host ' +
  'if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization ' +
  'range referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get status'
const TAIL =
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative Information204 No Content' +
  '301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable' +
  'Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,' +
  'application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.'

/** The dictionary both ends of SPDY/3 begin with (SPDY draft 3, section 2.6.10.1): 1,423 bytes. */
export const SPDY_DICTIONARY: Uint8Array = dictionary()

function dictionary(): Uint8Array {
  const parts: Buffer[] = []
  for (const word of [...WORDS.split(' '), '200 OK', 'version', 'HTTP/1.1', 'url', 'public', 'set-cookie', 'keep-alive', 'origin']) {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(word.length)
    parts.push(length, Buffer.from(word, 'latin1'))
  }
  return Buffer.concat([...parts, Buffer.from(TAIL, 'latin1')])
}

/** CMF and FLG with FDICT set, then the Adler-32 of the dictionary (RFC 1950). */
const ZLIB_HEAD = Buffer.from([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2])
/** An empty stored block: what a sync flush leaves, and what makes an inflater hand out what it has. */
const SYNC = Buffer.from([0, 0, 0, 0xff, 0xff])
const MAX_STORED = 0xffff
const WINDOW = 32 * 1024
/** Of one header block, inflated. */
const MAX_BLOCK = 64 * 1024
const MAX_HEADERS = 256

/**
 * Writes header blocks into the one zlib stream a direction of a connection has. The blocks are stored, not compressed: headers here are a
 * few dozen bytes, and a stored block needs no state between calls.
 */
export class HeaderWriter {
  private begun = false

  write(headers: SpdyHeaders): Uint8Array {
    const parts: Buffer[] = []
    const field = (text: string) => {
      const bytes = Buffer.from(text, 'utf8')
      const length = Buffer.alloc(4)
      length.writeUInt32BE(bytes.length)
      parts.push(length, bytes)
    }
    const count = Buffer.alloc(4)
    parts.push(count)
    let n = 0
    for (const [name, value] of Object.entries(headers)) {
      field(name.toLowerCase())
      field(value)
      n++
    }
    count.writeUInt32BE(n)
    const plain = Buffer.concat(parts)
    if (plain.length > MAX_STORED) throw new SpdyProtocolError('header block too large')
    const stored = Buffer.alloc(5)
    stored.writeUInt16LE(plain.length, 1)
    stored.writeUInt16LE(~plain.length & 0xffff, 3)
    const out = [stored, plain, SYNC]
    if (!this.begun) out.unshift(ZLIB_HEAD)
    this.begun = true
    return Buffer.concat(out)
  }
}

/**
 * Reads the header blocks of one direction. Each ends with a sync flush (the SPDY draft demands it), so that it is a run of whole deflate
 * blocks and only the window of the last 32 KiB has to be carried over.
 */
export class HeaderReader {
  private window: Buffer = Buffer.from(SPDY_DICTIONARY)
  private begun = false

  /** @throws SpdyProtocolError */
  read(block: Uint8Array): SpdyHeaders {
    let data = block
    if (!this.begun) {
      if (data.length < 2 || ((data[0] as number) & 0x0f) !== 8) throw new SpdyProtocolError('header block is not zlib')
      data = data.subarray((data[1] as number) & 0x20 ? 6 : 2)
      this.begun = true
    }
    let plain: Buffer
    try {
      plain = inflateRawSync(data, { dictionary: this.window, finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MAX_BLOCK })
    } catch (error) {
      throw new SpdyProtocolError(`header block: ${error instanceof Error ? error.message : String(error)}`)
    }
    this.window = Buffer.concat([this.window, plain])
    if (this.window.length > WINDOW) this.window = this.window.subarray(this.window.length - WINDOW)
    return parse(plain)
  }
}

function parse(plain: Buffer): SpdyHeaders {
  const headers: SpdyHeaders = Object.create(null) as SpdyHeaders
  let at = 0
  const number = (): number => {
    if (at + 4 > plain.length) throw new SpdyProtocolError('header block is cut off')
    at += 4
    return plain.readUInt32BE(at - 4)
  }
  const field = (): string => {
    const length = number()
    if (at + length > plain.length) throw new SpdyProtocolError('header block is cut off')
    at += length
    return plain.toString('utf8', at - length, at)
  }
  const n = number()
  if (n > MAX_HEADERS) throw new SpdyProtocolError('too many headers')
  for (let i = 0; i < n; i++) {
    const name = field().toLowerCase()
    const value = field()
    if (name in headers) throw new SpdyProtocolError(`header ${JSON.stringify(name)} came twice`)
    headers[name] = value
  }
  return headers
}
