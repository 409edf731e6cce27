import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { leaks } from '../e2e/leaks.ts'
import { Draw, repeatRows, variant } from '../e2e/variants.ts'
import { parsePage, vary } from '../walkthrough/page.ts'

const tutorials = join(import.meta.dirname, '../../docs/tutorials')
const pages = readdirSync(tutorials).filter((f) => /^\d\d-/.test(f))

describe('tutorials in other words', () => {
  test('rows that differ only in what may vary become as many as asked for', () => {
    const page = 'NAME\nnginx-855f9bc97b-gkkz4   1/1\nnginx-855f9bc97b-lmdtf   1/1\nend'
    expect(repeatRows(page, 2, 4).split('\n')).toHaveLength(6)
    expect(repeatRows(page, 3, 4)).toBe(page)
  })
  test('the same seed draws the same', () => {
    expect(variant(1, 'simulated', new Draw(7))?.told).toBe(variant(1, 'simulated', new Draw(7))?.told)
    expect(variant(1, 'simulated', new Draw(7))?.told).not.toBe(variant(1, 'simulated', new Draw(8))?.told)
  })
  test.each(pages.filter((f) => Number(f.slice(0, 2)) <= 5))('%s has a variant that names the node anew everywhere', (file) => {
    const drawn = variant(Number(file.slice(0, 2)), 'simulated', new Draw(3))
    const text = vary(drawn?.shape(readFileSync(join(tutorials, file), 'utf8')) ?? '', drawn?.words ?? {})
    expect(text).not.toMatch(/node-1\b/)
    expect(parsePage(text).steps.length).toBeGreaterThan(5)
  })
  test('what was there before is no leak', () => {
    expect(leaks(new Set(['interface eth0']), new Set(['interface eth0', 'interface veth1']))).toEqual(['interface veth1'])
  })
})
