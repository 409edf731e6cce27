import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { privateKeyPem, publicKeyDer } from './certificate.ts'

test('keys are written byte for byte as the library writes them', () => {
  const curves = [...Array.from({ length: 300 }, () => 'P-256'), 'P-384', 'P-521']
  const keys = [
    ...curves.map((namedCurve) => generateKeyPairSync('ec', { namedCurve })),
    generateKeyPairSync('ed25519'),
    generateKeyPairSync('rsa', { modulusLength: 1024 }),
  ]
  for (const { privateKey } of keys) {
    expect(privateKeyPem(privateKey)).toBe(privateKey.export({ type: 'pkcs8', format: 'pem' }))
    const library = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
    expect(Buffer.from(publicKeyDer(privateKey)).equals(library)).toBe(true)
    expect(Buffer.from(publicKeyDer(createPublicKey(privateKey))).equals(library)).toBe(true)
  }
})
