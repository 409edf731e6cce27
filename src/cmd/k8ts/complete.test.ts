import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import type { Command, CommandIO } from './command.ts'
import completion from './commands/completion.ts'
import { complete } from './complete.ts'
import { run } from './run.ts'

const io: CommandIO = { out: () => {}, err: () => {}, env: {}, colors: false }

const walk: Command = {
  usage: 'walk',
  summary: 'go somewhere',
  examples: '',
  flags: {
    pace: { kind: 'string', short: 'p', usage: 'how fast', values: ['slow', 'quick'] },
    loud: { kind: 'bool', usage: 'with noise' },
    secret: { kind: 'bool', usage: 'nobody asks', hidden: true },
  },
  words: [['home', 'hill'], ['today']],
  run: async () => 0,
}
const commands = { walk: async () => ({ default: walk }), wait: async () => ({ default: { ...walk, summary: 'stay' } }) }
const words = async (...typed: string[]) => (await complete(typed, commands, io)).map((c) => c.word)

test.each([
  [[''], ['walk', 'wait', 'help']],
  [['wal'], ['walk']],
  [
    ['help', 'wa'],
    ['walk', 'wait'],
  ],
  [['nothing', ''], []],
  [
    ['walk', ''],
    ['home', 'hill'],
  ],
  [['walk', 'hi'], ['hill']],
  [['walk', 'hill', ''], ['today']],
  [['walk', 'hill', 'today', ''], []],
  [
    ['walk', '--'],
    ['--pace', '--loud', '--help'],
  ],
  [
    ['walk', '--pace', ''],
    ['slow', 'quick'],
  ],
  [['walk', '-p', 'q'], ['quick']],
  [['walk', '--pace=s'], ['--pace=slow']],
  [['walk', '--loud', 'ho'], ['home']],
  [['walk', '--pace', 'slow', 'hill', ''], ['today']],
  [
    ['walk', '--constructor=', ''],
    ['home', 'hill'],
  ],
])('%j may become %j', async (typed, expected) => {
  expect(await words(...typed)).toEqual(expected)
})

test('candidates come with what they are', async () => {
  expect(await complete(['wai'], commands, io)).toEqual([{ word: 'wait', about: 'stay' }])
  expect(await complete(['walk', '--l'], commands, io)).toEqual([{ word: '--loud', about: 'with noise' }])
})

test('the command completes itself', async () => {
  let text = ''
  expect(await run(['__complete', 'up', '--runtime', ''], { ...io, out: (t) => (text += t) })).toBe(0)
  expect(text).toBe('auto\ncri\nsimulated\n')
})

test('bash takes the script and offers what k8ts says', async () => {
  let script = ''
  const flags = { args: ['bash'] } as unknown as Parameters<Command['run']>[0]
  await completion.run(flags, { ...io, out: (t) => (script += t) })
  const play = `k8ts() { printf '%s\\n' "asked for $(printf '[%s]' "$@")" >&2; printf 'simulated\\tno containers\\nsi lent\\n'; }
COMP_WORDS=(k8ts up --runtime si); COMP_CWORD=3
_k8ts 2>/dev/null
printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, status } = spawnSync('bash', ['--norc', '-c', `${script}\n${play}`], { encoding: 'utf8' })
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'simulated\nsi lent\n' })
})
