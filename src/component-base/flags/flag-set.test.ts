import { describe, expect, test } from 'vitest'
import { type FlagSpecs, flagsUsage, parseFlags } from './index.ts'

const specs: FlagSpecs = {
  'data-dir': { kind: 'string', usage: 'where', default: '/x' },
  detach: { kind: 'bool', short: 'd', usage: 'go to the background' },
  tty: { kind: 'bool', short: 't', usage: 'tty' },
  nodes: { kind: 'int', short: 'n', usage: 'how many', default: '1' },
  'dry-run': { kind: 'string', usage: 'dry', default: 'none', noValue: 'unchanged' },
  mirror: { kind: 'array', usage: 'mirrors' },
  plugins: { kind: 'list', usage: 'plugins' },
  wait: { kind: 'duration', usage: 'wait', default: '1m30s' },
}

describe('flags follow pflag', () => {
  test('values, shorthands, arguments in any order, and what follows --', () => {
    const f = parseFlags(specs, ['one', '--data-dir', '/d', '-dtn3', 'two', '--', '--detach=false'])
    expect([f.string('data-dir'), f.bool('detach'), f.bool('tty'), f.int('nodes')]).toEqual(['/d', true, true, 3])
    expect(f.args).toEqual(['one', 'two', '--detach=false'])
  })
  test('a boolean never takes the next word, an optional value needs =', () => {
    const f = parseFlags(specs, ['--detach', 'false', '--dry-run', 'server'])
    expect([f.bool('detach'), f.string('dry-run'), f.args]).toEqual([true, 'unchanged', ['false', 'server']])
    expect(parseFlags(specs, ['--dry-run=server', '--detach=false']).string('dry-run')).toBe('server')
  })
  test('lists split at commas, arrays do not', () => {
    const f = parseFlags(specs, ['--plugins=a,b', '--plugins', 'c', '--mirror=x=1,2', '--mirror', 'y'])
    expect([f.list('plugins'), f.list('mirror')]).toEqual([
      ['a', 'b', 'c'],
      ['x=1,2', 'y'],
    ])
  })
  test('defaults and durations', () => {
    const f = parseFlags(specs, ['--wait=1.5h'])
    expect([f.string('data-dir'), f.int('nodes'), f.duration('wait'), f.has('nodes')]).toEqual(['/x', 1, 5_400_000, false])
    expect(parseFlags(specs, []).duration('wait')).toBe(90_000)
  })
  test.each([
    [['--nods', '3'], 'unknown flag: --nods; did you mean --nodes?'],
    [['-x'], "unknown shorthand flag: 'x' in -x"],
    [['--nodes'], 'flag needs an argument: --nodes'],
    [['--nodes=three'], 'invalid argument "three" for "-n, --nodes" flag: strconv.ParseInt: parsing "three": invalid syntax'],
    [['--wait=5'], 'invalid argument "5" for "--wait" flag: time: missing unit in duration "5"'],
    [['--wait=5d'], 'invalid argument "5d" for "--wait" flag: time: unknown unit "d" in duration "5d"'],
    [['--detach=maybe'], 'invalid argument "maybe" for "-d, --detach" flag: strconv.ParseBool: parsing "maybe": invalid syntax'],
  ])('%j is refused', (argv, message) => {
    expect(() => parseFlags(specs, argv)).toThrow(message)
  })
  test('single dashes where the set allows them', () => {
    expect(parseFlags(specs, ['-data-dir', '/e'], { singleDash: true }).string('data-dir')).toBe('/e')
  })
  test('usage shows names, values and defaults', () => {
    expect(flagsUsage({ nodes: specs.nodes as never, detach: specs.detach as never })).toBe(
      '  -n, --nodes int   how many (default 1)\n  -d, --detach      go to the background\n',
    )
  })
})
