import { expect, test } from 'vitest'
import { nodeResolvConf } from './resolv-conf.ts'

const machine = (files: Record<string, string>) => nodeResolvConf(async (path) => files[path] ?? Promise.reject(new Error('none')))
const STUB = 'nameserver 127.0.0.53\noptions edns0\nsearch lan\n'
const usual = '/etc/resolv.conf'
const resolved = '/run/systemd/resolve/resolv.conf'

test.each([
  ['a server elsewhere', { [usual]: 'nameserver 192.0.2.1\n', [resolved]: 'nameserver 192.0.2.2\n' }, usual],
  ['the stub of systemd-resolved', { [usual]: STUB, [resolved]: 'nameserver 192.0.2.2\n' }, resolved],
  ['a stub, and nothing behind it', { [usual]: STUB }, usual],
  ['a stub beside another server', { [usual]: `${STUB}nameserver 192.0.2.1\n`, [resolved]: 'nameserver 192.0.2.2\n' }, usual],
  ['no file', {}, usual],
])('Pods see the name servers of %s', async (_, files, expected) => {
  expect(await machine(files as Record<string, string>)).toBe(expected)
})
