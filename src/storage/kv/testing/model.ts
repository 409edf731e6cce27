import fc from 'fast-check'
import { expect } from 'vitest'
import { CompactedError, type KV, prefixEnd, type TxnOp, type TxnResult } from '../kv.ts'

interface ModelRow {
  value: string
  create: number
  mod: number
  version: number
}

export type Step =
  | { kind: 'put'; key: string; value: string }
  | { kind: 'delete'; key: string; end?: string }
  | { kind: 'cas'; key: string; guess: boolean; value: string }
  | { kind: 'multi'; puts: string[]; deletes: string[]; value: string }
  | { kind: 'range'; key: string; end?: string; back: number; limit: number }
  | { kind: 'burst'; key: string; count: number }
  | { kind: 'compact'; back: number }

const KEYS = ['a', 'aa', 'ab', 'b', 'b/x', 'b/y', 'c', 'd']

/** Any list of things one can ask of a store. */
export function steps(): fc.Arbitrary<Step[]> {
  const key = fc.constantFrom(...KEYS)
  const value = fc.string({ maxLength: 6, unit: 'grapheme-ascii' })
  const end = fc.option(key, { nil: undefined })
  return fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('put' as const), key, value }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), key, end }) as fc.Arbitrary<Step> },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('cas' as const), key, guess: fc.boolean(), value }) },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('multi' as const),
          puts: fc.uniqueArray(key, { maxLength: 3 }),
          deletes: fc.uniqueArray(key, { maxLength: 3 }),
          value,
        }),
      },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('range' as const), key, end, back: fc.nat(8), limit: fc.nat(4) }) as fc.Arbitrary<Step> },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('burst' as const), key, count: fc.integer({ min: 2, max: 8 }) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('compact' as const), back: fc.nat(5) }) },
    ),
    { maxLength: 30 },
  )
}

/** A store as simple as can be: every revision is a whole map. */
export class Model {
  private revision: number
  private compacted = 0
  private readonly states = new Map<number, Map<string, ModelRow>>()

  constructor(revision: number) {
    this.revision = revision
    this.states.set(revision, new Map())
  }

  /** Does one step on both, compares, and notes the events that a watch must tell. */
  async step(kv: KV, prefix: string, step: Step, base: number, events: string[]): Promise<void> {
    const now = this.now()
    switch (step.kind) {
      case 'put': {
        const result = await kv.txn({ success: [{ op: 'put', key: prefix + step.key, value: Buffer.from(step.value) }] })
        this.write([[step.key, step.value]], prefix, events)
        expect(result.revision).toBe(this.revision)
        break
      }
      case 'delete': {
        const gone = [...now.keys()].filter((k) => (step.end === undefined ? k === step.key : k >= step.key && k < step.end)).sort()
        const result = await kv.txn({ success: [{ op: 'delete', key: prefix + step.key, ...(step.end === undefined ? {} : { end: prefix + step.end }) }] })
        expect(result.results).toMatchObject([{ op: 'delete', deleted: gone.length }])
        this.write(
          gone.map((k) => [k, undefined]),
          prefix,
          events,
        )
        break
      }
      case 'cas': {
        const mod = (now.get(step.key)?.mod ?? 0) + (step.guess ? 0 : 1)
        const result = await kv.txn({
          compare: [{ key: prefix + step.key, target: 'mod', op: '=', value: mod }],
          success: [{ op: 'put', key: prefix + step.key, value: Buffer.from(step.value) }],
          failure: [{ op: 'range', request: { key: prefix + step.key } }],
        })
        expect(result.succeeded).toBe(step.guess)
        if (step.guess) this.write([[step.key, step.value]], prefix, events)
        else {
          const found = result.results[0]?.op === 'range' ? result.results[0].result.kvs : []
          expect(found.map((f) => f.modRevision)).toEqual(now.has(step.key) ? [now.get(step.key)!.mod] : [])
        }
        break
      }
      case 'multi': {
        const deletes = step.deletes.filter((k) => !step.puts.includes(k))
        const ops: TxnOp[] = [
          ...step.puts.map((k): TxnOp => ({ op: 'put', key: prefix + k, value: Buffer.from(step.value) })),
          ...deletes.map((k): TxnOp => ({ op: 'delete', key: prefix + k })),
        ]
        const result = await kv.txn({ success: ops })
        this.write(
          [...step.puts.map((k): [string, string] => [k, step.value]), ...deletes.filter((k) => now.has(k)).map((k): [string, undefined] => [k, undefined])],
          prefix,
          events,
        )
        expect(result.revision).toBe(this.revision)
        break
      }
      case 'burst': {
        const { count } = step
        const nth = (i: number) =>
          kv.txn({
            compare: [{ key: prefix + step.key, target: 'version', op: '=', value: (now.get(step.key)?.version ?? 0) + i }],
            success: [{ op: 'put', key: prefix + step.key, value: Buffer.from(String(i)) }],
          })
        // In flight together, each must see the one before; only over a network they may overtake each other.
        const results: TxnResult[] = []
        if (kv.remote) for (let i = 0; i < count; i++) results.push(await nth(i))
        else results.push(...(await Promise.all(Array.from({ length: count }, (_, i) => nth(i)))))
        for (const [i, result] of results.entries()) {
          expect(result.succeeded).toBe(true)
          this.write([[step.key, String(i)]], prefix, events)
          expect(result.revision).toBe(this.revision)
        }
        break
      }
      case 'range':
        await this.compareRange(kv, prefix, step, base)
        break
      case 'compact': {
        const to = this.revision - step.back
        if (to <= Math.max(this.compacted, base, kv.compactedRevision)) break
        await kv.compact(to)
        this.compacted = to
        break
      }
    }
    expect((await kv.range({ key: prefix, end: prefixEnd(prefix), countOnly: true })).count).toBe(this.now().size)
  }

  private now(): Map<string, ModelRow> {
    return this.states.get(this.revision) as Map<string, ModelRow>
  }

  private write(changes: [string, string | undefined][], prefix: string, events: string[]): void {
    if (changes.length === 0) return
    const next = new Map(this.now())
    this.revision++
    for (const [key, value] of changes) {
      const prev = next.get(key)
      if (value === undefined) next.delete(key)
      else next.set(key, { value, create: prev?.create ?? this.revision, mod: this.revision, version: (prev?.version ?? 0) + 1 })
      events.push(`${value === undefined ? 'delete' : 'put'} ${prefix}${key} ${this.revision} ${value ?? ''} ${prev?.mod ?? '-'}`)
    }
    this.states.set(this.revision, next)
  }

  private async compareRange(kv: KV, prefix: string, step: Extract<Step, { kind: 'range' }>, base: number): Promise<void> {
    const revision = Math.max(base, this.revision - step.back)
    const request = { key: prefix + step.key, ...(step.end === undefined ? {} : { end: prefix + step.end }), revision, limit: step.limit }
    if (revision < this.compacted) {
      await expect(kv.range(request)).rejects.toBeInstanceOf(CompactedError)
      return
    }
    const rows = this.states.get(revision) as Map<string, ModelRow>
    const wanted = [...rows].filter(([k]) => (step.end === undefined ? k === step.key : k >= step.key && k < step.end)).sort(([a], [b]) => (a < b ? -1 : 1))
    const shown = step.limit > 0 ? wanted.slice(0, step.limit) : wanted
    const result = await kv.range(request)
    expect(result.kvs.map((k) => [k.key.slice(prefix.length), Buffer.from(k.value).toString(), k.createRevision, k.modRevision, k.version])).toEqual(
      shown.map(([k, r]) => [k, r.value, r.create, r.mod, r.version]),
    )
    expect(result.count).toBe(wanted.length)
    expect(result.more).toBe(shown.length < wanted.length)
  }
}
