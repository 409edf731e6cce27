import { describe, expect, test } from 'vitest'
import { compare, scrub } from '../walkthrough/compare.ts'
import { parsePage, vary } from '../walkthrough/page.ts'
import { runPage } from '../walkthrough/runner.ts'

const page = (word: string) => `# A page

\`\`\`yaml title="a.yaml"
kind: Pod
\`\`\`

<!-- exit 3 -->
\`\`\`console
$ cat a.yaml; \\
> echo ${word}; exit 3
kind: Pod
hello
\`\`\`
`

describe('pages are tests', () => {
  test('a page whose outputs are right passes, one altered word fails', async () => {
    await expect(runPage(page('hello'), { runtime: 'real', env: {} })).resolves.toEqual({ commands: 1 })
    await expect(runPage(page('hallo'), { runtime: 'real', env: {} })).rejects.toThrow('page: hello')
  })
  test('files, commands over lines, and notes are read', () => {
    expect(parsePage(page('hello')).steps).toMatchObject([
      { kind: 'file', name: 'a.yaml', text: 'kind: Pod\n' },
      { kind: 'command', command: 'cat a.yaml; echo hello; exit 3', output: ['kind: Pod', 'hello'], exit: 3 },
    ])
  })
  test('only what may vary is let through', () => {
    expect(
      compare(['nginx-5c98b7d6f4-x2k7q   1/1   Running   0   3s   10.244.0.7'], ['nginx-7f9c6d5b84-bbdx2  1/1  Running  0  12s  10.244.0.12']),
    ).toBeUndefined()
    expect(compare(['a   1/1   Running'], ['a   0/1   Running'])).toContain('page: a')
    expect(compare(['x', '...', 'z'], ['x', 'y1', 'y2', 'z'])).toBeUndefined()
    expect(compare(['x', '...', 'z'], ['x', 'y1', 'y2'])).toContain('...')
    expect(compare(['x'], ['x', 'y'])).toContain('goes on')
    expect(scrub('  Normal  Pulled  4s  kubelet  Successfully pulled image "a" in 1.2s (1.2s including waiting). Image size: 5605029 bytes.')).toBe(
      '  Normal  Pulled  <age>  kubelet  Successfully pulled image "a" in <age> (<age> including waiting). Image size: <size> bytes.',
    )
  })
  test('names are varied without hitting each other', () => {
    expect(vary('nginx web nginx-web', { nginx: 'web', web: 'nginx' })).toBe('web nginx web-nginx')
  })
})
