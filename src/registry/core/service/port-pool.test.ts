import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../../base/index.ts'
import { createMemoryKV } from '../../../storage/kv/memory/memory-kv.ts'
import { PORT_ALLOCATED, PortBits, PortPool, RANGE_FULL } from './port-pool.ts'

describe('port bits', () => {
  it('are the same after they were written and read', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 30000, max: 32767 }), { maxLength: 40 }), (ports) => {
        const bits = new PortBits(30000, 32767)
        for (const port of ports) bits.take(port)
        expect(PortBits.decode(30000, 32767, bits.encode()).ports()).toEqual([...ports].sort((a, b) => a - b))
      }),
    )
  })

  it('give out every port once, the low end last', () => {
    const bits = new PortBits(30000, 30063)
    const given = Array.from({ length: 64 }, () => bits.takeNext(() => 0))
    expect(new Set(given).size).toBe(64)
    expect(given[0]).toBe(30016)
    expect(() => bits.takeNext(() => 0)).toThrow(RANGE_FULL)
    bits.give(30005)
    expect(bits.takeNext((below) => below - 1)).toBe(30005)
  })

  it('refuse what is taken or out of range', () => {
    const bits = new PortBits(30000, 30010)
    bits.take(30001)
    expect(() => bits.take(30001)).toThrow(PORT_ALLOCATED)
    expect(() => bits.take(80)).toThrow('provided port is not in the valid range. The range of valid ports is 30000-30010')
  })
})

describe('port pool', () => {
  it('is shared by several servers without giving a port twice', async () => {
    const kv = createMemoryKV({ clock: new VirtualClock() })
    const pools = [0, 1, 2].map(() => new PortPool(kv, 30000, 30099, async () => []))
    const given = await Promise.all(Array.from({ length: 60 }, (_, i) => (pools[i % 3] as PortPool).change((bits) => bits.takeNext(() => 0))))
    expect(new Set(given).size).toBe(60)
  })

  it('begins with the ports of stored objects', async () => {
    const pool = new PortPool(createMemoryKV({ clock: new VirtualClock() }), 30000, 30099, async () => [30042, 80])
    expect(await pool.change((bits) => bits.ports())).toEqual([30042])
  })

  it('stores nothing in a dry run, nor when the change fails', async () => {
    const pool = new PortPool(createMemoryKV({ clock: new VirtualClock() }), 30000, 30099, async () => [])
    await pool.change((bits) => bits.take(30001), true)
    await expect(
      pool.change((bits) => {
        bits.take(30002)
        bits.take(30002)
      }),
    ).rejects.toThrow(PORT_ALLOCATED)
    expect(await pool.change((bits) => bits.ports())).toEqual([])
  })
})
