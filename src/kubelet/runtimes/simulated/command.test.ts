import { expect, test } from 'vitest'
import { understandCommand } from './command.ts'

const END = { do: 'exit', code: 0 }

test.each([
  [['true'], [END]],
  [['/bin/false'], [{ do: 'exit', code: 1 }]],
  [['exit', '3'], [{ do: 'exit', code: 3 }]],
  [
    ['echo', 'a', 'b'],
    [{ do: 'print', text: 'a b' }, END],
  ],
  [
    ['sleep', '5'],
    [{ do: 'sleep', ms: 5000 }, END],
  ],
  [
    ['sh', '-c', 'echo hi; sleep 1 && exit 4'],
    [
      { do: 'print', text: 'hi' },
      { do: 'sleep', ms: 1000 },
      { do: 'exit', code: 4 },
    ],
  ],
  [['wget', '-q', 'web:80'], [END]],
  [['/usr/bin/curl', 'http://web'], [END]],
  [
    ['sh', '-c', 'wget web:80 && echo ok'],
    [{ do: 'print', text: 'ok' }, END],
  ],
])('%j', (argv, steps) => {
  expect(understandCommand(argv as string[])).toEqual(steps)
})

test.each([[['nginx']], [['python', '-m', 'http.server']], [['sh', '-c', 'while true; do sleep 1; done']], [['sh', '-c', 'echo $(date)']], [[]]])(
  '%j is not known to end',
  (argv) => {
    expect(understandCommand(argv)).toBeUndefined()
  },
)
