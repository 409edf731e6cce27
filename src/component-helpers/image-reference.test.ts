import { describe, expect, it } from 'vitest'
import { canonicalImageName, defaultPullPolicy, parseImageReference, withDefaultTag } from './image-reference.ts'

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`

describe('image references', () => {
  it.each([
    ['nginx', 'docker.io/library/nginx:latest', 'nginx:latest', 'Always'],
    ['nginx:1.27', 'docker.io/library/nginx:1.27', 'nginx:1.27', 'IfNotPresent'],
    ['nginx:latest', 'docker.io/library/nginx:latest', 'nginx:latest', 'Always'],
    ['index.docker.io/nginx', 'docker.io/library/nginx:latest', 'index.docker.io/nginx:latest', 'Always'],
    ['me/tool', 'docker.io/me/tool:latest', 'me/tool:latest', 'Always'],
    ['localhost/x', 'localhost/x:latest', 'localhost/x:latest', 'Always'],
    ['example.com:5000/a/b__c-d.e:v1', 'example.com:5000/a/b__c-d.e:v1', 'example.com:5000/a/b__c-d.e:v1', 'IfNotPresent'],
    ['[2001:db8::1]:5000/a', '[2001:db8::1]:5000/a:latest', '[2001:db8::1]:5000/a:latest', 'Always'],
    ['UPPER/x', 'UPPER/x:latest', 'UPPER/x:latest', 'Always'],
    [`nginx@${DIGEST}`, `docker.io/library/nginx@${DIGEST}`, `nginx@${DIGEST}`, 'IfNotPresent'],
    [`nginx:1@${DIGEST}`, `docker.io/library/nginx:1@${DIGEST}`, `nginx:1@${DIGEST}`, 'IfNotPresent'],
  ])('%s is %s', (text, canonical, tagged, policy) => {
    const ref = parseImageReference(text)
    expect(ref && canonicalImageName(ref)).toBe(canonical)
    expect(withDefaultTag(text)).toBe(tagged)
    expect(defaultPullPolicy(text)).toBe(policy)
  })

  it.each(['', 'Nginx', 'a//b', '/a', 'a:', 'a:-x', 'a@sha256:12', 'a b', '-a', 'example.com-/a', 'f'.repeat(64), 'a'.repeat(256), `${'a-'.repeat(40_000)}!`])(
    '%s is none',
    (text) => {
      expect(parseImageReference(text)).toBeUndefined()
      expect(defaultPullPolicy(text)).toBe('IfNotPresent')
    },
  )
})
