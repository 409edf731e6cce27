import type { Readable } from 'node:stream'
import { newBadRequest, newRequestEntityTooLarge } from '../../apimachinery/errors.ts'

const EMPTY = new Uint8Array(0)

/** Reads a body to its end; 413 above the limit, without reading on. */
export function readAll(stream: Readable, limit: number, declared: string | undefined): Promise<Uint8Array> {
  if (declared !== undefined && Number(declared) > limit) return Promise.reject(tooLarge(limit))
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined
    let rest: Buffer[] | undefined
    let total = 0
    let done = false
    const fail = (error: Error) => {
      if (done) return
      done = true
      stream.removeListener('data', onData)
      reject(error)
    }
    const onData = (chunk: Buffer) => {
      total += chunk.length
      if (total > limit) {
        stream.pause()
        fail(tooLarge(limit))
        return
      }
      if (!first) first = chunk
      else {
        rest ??= []
        rest.push(chunk)
      }
    }
    stream.on('data', onData)
    stream.once('end', () => {
      if (done) return
      done = true
      if (!first) resolve(EMPTY)
      else resolve(rest ? Buffer.concat([first, ...rest], total) : first)
    })
    stream.once('error', (error) => fail(newBadRequest(error.message)))
    // Every request ends with it: an error is made only for those that are cut off.
    stream.once('close', () => {
      if (!done) fail(newBadRequest('unexpected EOF'))
    })
  })
}

function tooLarge(limit: number): Error {
  return newRequestEntityTooLarge(`limit is ${limit}`)
}
