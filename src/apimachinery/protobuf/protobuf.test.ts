import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeBase64, encodeBase64 } from '../base64.ts'
import type { StructSchema } from '../schema/schema.ts'
import { decodeProtobuf, decodeWatchEvent, encodeProtobuf, encodeWatchFrame, FrameSplitter, readEnvelope } from './envelope.ts'
import { Reader, ReverseWriter } from './wire.ts'

const schema: StructSchema = { kind: 'struct', name: 'x/v1.Thing', fields: [], byName: new Map(), proto: [] }

describe('wire', () => {
  it('writes and reads integers of 64 bits', () => {
    const numbers = fc.oneof(fc.maxSafeInteger(), fc.constantFrom(0, -1, 127, 128, -(2 ** 31), 2 ** 31 - 1, 2 ** 53, -(2 ** 63)))
    fc.assert(
      fc.property(fc.array(numbers), (list) => {
        const w = new ReverseWriter()
        for (const n of [...list].reverse()) w.int64(n)
        const r = new Reader(w.finish())
        expect(list.map(() => r.int64() + 0)).toEqual(list.map((n) => n + 0))
      }),
    )
  })

  it('writes and reads text of any length', () => {
    const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme', minLength: 60, maxLength: 5000 }))
    fc.assert(
      fc.property(fc.array(text, { maxLength: 5 }), (list) => {
        const w = new ReverseWriter()
        for (const s of [...list].reverse()) w.string(s)
        const bytes = w.finish()
        const r = new Reader(bytes)
        expect(list.map(() => r.string())).toEqual(list)
        expect(r.at).toBe(bytes.length)
      }),
    )
  })

  it('refuses what ends early, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          readEnvelope(Uint8Array.from([0x6b, 0x38, 0x73, 0, ...bytes]))
        } catch (e) {
          expect((e as Error).name).toBe('ProtobufError')
        }
      }),
    )
    expect(() => readEnvelope(new Uint8Array())).toThrow('empty data')
    expect(() => readEnvelope(Uint8Array.of(1, 2, 3, 4, 5))).toThrow('expected prefix [107 56 115 0]')
    expect(() => readEnvelope(Uint8Array.of(0x6b, 0x38, 0x73, 0))).toThrow('empty body')
    expect(() => decodeProtobuf(Uint8Array.of(0x6b, 0x38, 0x73, 0, 0x12, 0xff, 0xff, 0xff, 0x7f), schema)).toThrow('unexpected EOF')
  })
})

describe('watch frames', () => {
  it('survive any chunking', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('ADDED', 'MODIFIED', 'DELETED'), { maxLength: 5 }), fc.integer({ min: 1, max: 30 }), (types, size) => {
        const stream = Buffer.concat(types.map((t) => encodeWatchFrame(t, {}, schema)))
        const splitter = new FrameSplitter()
        const got: string[] = []
        for (let i = 0; i < stream.length; i += size) {
          for (const frame of splitter.push(stream.subarray(i, i + size))) {
            const event = decodeWatchEvent(frame)
            expect(event.object).toEqual(encodeProtobuf({}, schema))
            got.push(event.type)
          }
        }
        expect(got).toEqual(types)
      }),
    )
    expect(() => new FrameSplitter(10).push(Uint8Array.of(0, 0, 1, 0))).toThrow('exceeds 10')
  })
})

describe('base64', () => {
  it('agrees with the platform', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const text = encodeBase64(bytes)
        expect(text).toBe(Buffer.from(bytes).toString('base64'))
        expect(decodeBase64(text)).toEqual(bytes)
      }),
    )
  })
})
