import { createHmac, createPublicKey, verify, X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { resources } from '../api/index.ts'
import { seededRandom } from '../base/index.ts'
import { createSigningRequest, generateKey, issueKeyPair, privateKeyPem } from '../component-base/x509/index.ts'
import { controllerHarness } from '../testing/controller-harness.ts'
import { BootstrapSigner, TokenCleaner } from './bootstrap/controllers.ts'
import { CsrSigner } from './certificates/controllers.ts'
import { ServiceAccountTokenController } from './serviceaccounttoken/controller.ts'

const { configmaps, secrets, serviceaccounts } = resources.corev1
const { certificatesigningrequests } = resources.certificatesv1
const b64 = (text: string) => Buffer.from(text).toString('base64')

describe('identity controllers', () => {
  it('sign approved requests and refuse bad forms', async () => {
    const h = controllerHarness()
    const now = h.clock.now()
    const ca = issueKeyPair(
      { subject: { commonName: 'ca', organizations: [] }, notBefore: now - 1000, notAfter: now + 10 * 365 * 86_400_000, ca: true, usages: ['keyCertSign'] },
      undefined,
      seededRandom(1),
    )
    await h.start(new CsrSigner(h.context, { clusterSigningCertificate: ca.certificate, clusterSigningKey: ca.key }))
    const ask = (name: string, commonName: string, organizations: string[]) =>
      h.create(certificatesigningrequests, {
        metadata: { name },
        spec: {
          request: b64(createSigningRequest({ commonName, organizations }, {}, generateKey())),
          signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
          usages: ['client auth', 'digital signature'],
          expirationSeconds: 3600,
        },
        status: { conditions: [{ type: 'Approved', status: 'True' }] },
      })
    await ask('good', 'system:node:n1', ['system:nodes'])
    await ask('bad', 'system:node:n1', ['people'])
    await h.clock.advance(1000)
    const [good, bad] = [await h.client.resource(certificatesigningrequests).get('good'), await h.client.resource(certificatesigningrequests).get('bad')]
    const certificate = new X509Certificate(Buffer.from(good.status?.certificate ?? '', 'base64'))
    expect(certificate.verify(new X509Certificate(ca.certificate).publicKey)).toBe(true)
    expect(certificate.subject).toContain('CN=system:node:n1')
    expect(Date.parse(certificate.validTo)).toBe(now + 3_600_000)
    expect(bad.status?.conditions?.at(-1)).toMatchObject({
      type: 'Failed',
      reason: 'SignerValidationFailure',
      message: 'subject organization is not system:nodes',
    })
    await h.stop()
  })

  it('fill token secrets, and remove them with their account', async () => {
    const h = controllerHarness()
    const key = generateKey()
    await h.start(new ServiceAccountTokenController(h.context, { privateKey: privateKeyPem(key), rootCA: 'PEM' }))
    const account = await h.create(serviceaccounts, { metadata: { name: 'bot' } })
    await h.create(secrets, {
      metadata: { name: 't', annotations: { 'kubernetes.io/service-account.name': 'bot' } },
      type: 'kubernetes.io/service-account-token',
    })
    await h.clock.advance(1000)
    const secret = await h.client.resource(secrets).namespace('default').get('t')
    expect(secret.metadata.annotations?.['kubernetes.io/service-account.uid']).toBe(account.metadata.uid)
    expect(secret.data).toMatchObject({ 'ca.crt': b64('PEM'), namespace: b64('default') })
    const [header = '', payload = '', signature = ''] = Buffer.from(secret.data?.['token'] ?? '', 'base64')
      .toString()
      .split('.')
    const publicKey = { key: createPublicKey(key), dsaEncoding: 'ieee-p1363' as const }
    expect(verify('sha256', Buffer.from(`${header}.${payload}`), publicKey, Buffer.from(signature, 'base64url'))).toBe(true)
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toEqual({
      iss: 'kubernetes/serviceaccount',
      sub: 'system:serviceaccount:default:bot',
      'kubernetes.io/serviceaccount/namespace': 'default',
      'kubernetes.io/serviceaccount/secret.name': 't',
      'kubernetes.io/serviceaccount/service-account.name': 'bot',
      'kubernetes.io/serviceaccount/service-account.uid': account.metadata.uid,
    })
    await h.client.resource(serviceaccounts).namespace('default').delete('bot')
    await h.clock.advance(1000)
    expect(await h.list(secrets)).toEqual([])
    await h.stop()
  })

  it('sign cluster-info with bootstrap tokens and clean those that end', async () => {
    const h = controllerHarness()
    const data = {
      'token-id': b64('abcdef'),
      'token-secret': b64('0123456789abcdef'),
      'usage-bootstrap-signing': b64('true'),
      expiration: b64('2026-01-01T01:00:00Z'),
    }
    await h.create(secrets, { metadata: { name: 'bootstrap-token-abcdef' }, type: 'bootstrap.kubernetes.io/token', data }, 'kube-system')
    await h.create(configmaps, { metadata: { name: 'cluster-info' }, data: { kubeconfig: 'x: y' } }, 'kube-public')
    await h.start(new BootstrapSigner(h.context), new TokenCleaner(h.context))
    await h.clock.advance(1000)
    const jws = (await h.client.resource(configmaps).namespace('kube-public').get('cluster-info')).data?.['jws-kubeconfig-abcdef'] ?? ''
    const [header, , signature] = jws.split('.')
    const body = `${header}.${Buffer.from('x: y').toString('base64url')}`
    expect(signature).toBe(createHmac('sha256', 'abcdef.0123456789abcdef').update(body).digest('base64url'))
    await h.clock.advance(3_700_000)
    expect(await h.list(secrets)).toEqual([])
    expect((await h.client.resource(configmaps).namespace('kube-public').get('cluster-info')).data).toEqual({ kubeconfig: 'x: y' })
    expect(await h.stop()).toEqual({ timers: 0, watches: 0 })
  })
})
