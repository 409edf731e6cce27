import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type ItemForm, itemsBody } from './pieces.ts'

const TEXT: ItemForm<string> = {
  size: (item) => Buffer.byteLength(item),
  write: (item, out, at) => at + out.write(item, at, 'utf8'),
}

async function whole(body: Awaited<ReturnType<typeof itemsBody>>): Promise<Buffer> {
  if (body.bytes) return Buffer.from(body.bytes)
  const parts: Uint8Array[] = []
  for await (const piece of body.pieces?.make() ?? []) parts.push(piece)
  const bytes = Buffer.concat(parts)
  expect(bytes.length).toBe(body.pieces?.length)
  return bytes
}

it('is head, items with commas and tail, however long they are', async () => {
  const item = fc.oneof(
    fc.string(),
    fc.integer({ min: 100_000, max: 600_000 }).map((n) => 'x'.repeat(n)),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(item, { maxLength: 12 }), fc.string(), async (items, head) => {
      expect((await whole(await itemsBody(head, items, TEXT, ']}\n'))).equals(Buffer.from(`${head}${items.join(',')}]}\n`))).toBe(true)
    }),
    { numRuns: 40 },
  )
})

it('makes a short body at once and a long one in pieces', async () => {
  expect(Object.keys(await itemsBody('[', ['a'], TEXT, ']'))).toEqual(['bytes'])
  const long = await itemsBody(
    '[',
    Array.from({ length: 1000 }, () => 'x'.repeat(1000)),
    TEXT,
    ']',
  )
  let most = 0
  for await (const piece of long.pieces?.make() ?? []) most = Math.max(most, piece.length)
  expect(most).toBeGreaterThan(200_000)
  expect(most).toBeLessThanOrEqual(256 * 1024)
})
