import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run } from '../../src/cmd/k8ts/run.ts'

const root = join(import.meta.dirname, '../..')
const { rooms, pure, importedOnlyBy } = (await import(`${root}/scripts/walls.mjs`)) as {
  rooms: Record<string, string[] | '*'>
  pure: string[]
  importedOnlyBy: Record<string, string[]>
}
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const below = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((e) =>
    e.isDirectory() ? below(`${folder}/${e.name}`) : e.name.endsWith('.md') ? [`${folder}/${e.name}`] : [],
  )
const pages = [...readdirSync(root).filter((f) => f.endsWith('.md')), ...below('docs')]

/** GitHub's name of a heading. */
const anchor = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-')

describe.each(pages)('%s', (page) => {
  const text = read(page)
  const prose = text.replace(/^(`{3,}).*?^\1$/gms, '')

  test('its links lead somewhere', () => {
    const dead = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
      if (/^[a-z]+:/.test(link)) return []
      const [path = '', fragment] = link.split('#')
      const target = path === '' ? join(root, page) : resolve(root, dirname(page), path)
      if (!existsSync(target)) return [link]
      if (fragment === undefined) return []
      const anchors = [...readFileSync(target, 'utf8').matchAll(/^#+ (.*)$/gm)].map((m) => anchor(m[1] as string))
      return anchors.includes(fragment) ? [] : [link]
    })
    expect(dead).toEqual([])
  })

  test('the source files it names are there', () => {
    const gone = [...prose.matchAll(/`((?:src|scripts|test|facts|bench|docs)\/[\w./-]+)`/g)]
      .map((m) => m[1] as string)
      .filter((p) => !existsSync(join(root, p)))
    expect(gone).toEqual([])
  })
})

test('the table of rooms is the one that the walls are checked by', () => {
  const rows = [...read('docs/architecture.md').matchAll(/^\| `([\w-]+)` \|.*\| ([^|]+) \|$/gm)].map(([, room, imports = '']) => [
    room,
    [...imports.matchAll(/`([\w-]+)`/g)].map((m) => m[1]).sort(),
    /everything/.test(imports),
  ])
  const floors = { ...groups() }
  expect(rows.map(([room, names, all]) => [room, all ? '*' : (names as string[]).flatMap((n) => floors[n] ?? [n]).sort()])).toEqual(
    Object.entries(rooms).map(([room, imports]) => [room, imports === '*' ? '*' : [...imports].sort()]),
  )
  expect(Object.keys(rooms)).toEqual(expect.arrayContaining([...pure, ...Object.keys(importedOnlyBy)]))
})

test('docs/commands.md has the help of every command as it is printed', async () => {
  const page = read('docs/commands.md')
  const blocks = [...page.matchAll(/^```text help=(\S+)\n(.*?)```$/gms)]
  const help = async (name: string): Promise<string> => {
    let text = ''
    const io = { out: (t: string) => void (text += t), err: (t: string) => void (text += t), env: {}, colors: false }
    expect(await run(name === 'k8ts' ? ['--help'] : [name, '--help'], io)).toBe(0)
    return text
  }
  const names = [...(await help('k8ts')).matchAll(/^ {2}([a-z-]+) {2,}\S/gm)].map((m) => m[1]).filter((n) => n !== 'k8ts')
  expect(blocks.map((b) => b[1])).toEqual(['k8ts', ...names])
  const printed = await Promise.all(blocks.map(async ([, name = '']) => [name, await help(name)] as const))
  if (process.env.UPDATE_DOCS) {
    const texts = new Map(printed)
    writeFileSync(
      join(root, 'docs/commands.md'),
      page.replace(/^```text help=(\S+)\n.*?```$/gms, (_, name: string) => `\`\`\`text help=${name}\n${texts.get(name)}\`\`\``),
    )
  } else for (const [i, [, text]] of printed.entries()) expect(blocks[i]?.[2]).toBe(text)
})

/** Words of the table that stand for several rooms: each is defined in a line `name stands for …` above it. */
function groups(): Record<string, string[]> {
  const lines = [...read('docs/architecture.md').matchAll(/^- `([\w-]+)` stands for (.*)$/gm)]
  const out: Record<string, string[]> = {}
  for (const [, name = '', list = ''] of lines) out[name] = [...list.matchAll(/`([\w-]+)`/g)].flatMap((m) => out[m[1] as string] ?? [m[1] as string])
  return out
}

test('pages are found', () => {
  expect(pages.map((p) => relative(root, join(root, p)))).toEqual(expect.arrayContaining(['README.md', 'README.ja.md', 'docs/architecture.md']))
})
