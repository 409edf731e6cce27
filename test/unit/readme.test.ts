import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import * as k8ts from '../../src/index.ts'

const root = join(import.meta.dirname, '../..')
const AsyncFunction = (async () => {}).constructor as new (...args: string[]) => (...values: unknown[]) => Promise<void>

/** The `ts` blocks of a page: examples a reader can copy. They have no types, so that they are JavaScript too. */
const examples = (file: string) => [...readFileSync(join(root, file), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((m) => m[1] as string)

/** What the page says each `console.log` prints: the comment at the end of its line. */
const printed = (code: string) => [...code.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map((m) => m[1])

describe('README.md', () => {
  test.each(examples('README.md'))(
    'example %#',
    async (code) => {
      const lines: string[] = []
      const body = code.replace(/^import \{(.*)\} from 'k8ts'$/m, 'const {$1} = k8ts')
      const run = new AsyncFunction('k8ts', 'console', body)
      await run(k8ts, { log: (value: unknown) => lines.push(String(value)) })
      expect(lines.length).toBeGreaterThan(0)
      expect(lines).toEqual(printed(code))
    },
    60_000,
  )
})

test('both languages show the same examples, commands and tables', () => {
  expect(examples('README.ja.md')).toEqual(examples('README.md'))
  const commands = (file: string) => [...readFileSync(join(root, file), 'utf8').matchAll(/^\$ .*$/gm)].map((m) => m[0])
  expect(commands('README.ja.md')).toEqual(commands('README.md'))
  const rows = (file: string) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .filter((l) => l.startsWith('|')).length
  expect(rows('README.ja.md')).toBe(rows('README.md'))
})
