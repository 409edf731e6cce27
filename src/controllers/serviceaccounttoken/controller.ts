import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import type { Secret, ServiceAccount } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isConflict, isNotFound } from '../../apimachinery/errors.ts'
import { objectKey } from '../../apimachinery/object.ts'
import { deepCopy } from '../../base/index.ts'
import type { Informer } from '../../client/index.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'

const TYPE = 'kubernetes.io/service-account-token'
const NAME_KEY = 'kubernetes.io/service-account.name'
const UID_KEY = 'kubernetes.io/service-account.uid'
const base64 = (text: string) => Buffer.from(text).toString('base64')
const base64url = (text: string) => Buffer.from(text).toString('base64url')

/** Fills Secrets that ask for a token of an account, and removes those whose account is gone. */
export class ServiceAccountTokenController {
  private readonly context: ControllerContext
  private readonly key: KeyObject
  private readonly rootCA: string
  private readonly secrets: Informer<Secret>
  private readonly accounts: Informer<ServiceAccount>
  private readonly controller: Controller

  /** @param options PEM of the private key and of the CA bundle */
  constructor(context: ControllerContext, options: { privateKey: string; rootCA: string }) {
    this.context = context
    this.key = createPrivateKey(options.privateKey)
    this.rootCA = options.rootCA
    this.secrets = context.informers.informer(resources.corev1.secrets, { fieldSelector: `type=${TYPE}` })
    this.accounts = context.informers.informer(resources.corev1.serviceaccounts)
    this.controller = new Controller(context, {
      name: 'serviceaccount-token-controller',
      informers: [this.secrets, this.accounts],
      reconcile: (key) => this.reconcile(key),
    })
    const { queue } = this.controller
    this.secrets.addHandler({ onAdd: (s) => queue.add(objectKey(s)), onUpdate: (_, s) => queue.add(objectKey(s)), onDelete: (s) => this.unlist(s) })
    const accountChanged = (account: ServiceAccount) => {
      for (const secret of this.secrets.lister.inNamespace(account.metadata.namespace)) {
        if (secret.metadata.annotations?.[NAME_KEY] === account.metadata.name) queue.add(objectKey(secret))
      }
    }
    this.accounts.addHandler({ onAdd: accountChanged, onUpdate: (_, a) => accountChanged(a), onDelete: accountChanged })
  }

  run(): Promise<void> {
    return this.controller.run()
  }

  private async reconcile(key: string): Promise<void> {
    const secret = this.secrets.lister.get(key)
    if (!secret) return
    const { namespace = '', annotations } = secret.metadata
    const name = annotations?.[NAME_KEY] ?? ''
    const secrets = this.context.client.resource(resources.corev1.secrets).namespace(namespace)
    const account = await this.account(namespace, name)
    const uid = annotations?.[UID_KEY]
    if (!account || (uid && uid !== account.metadata.uid)) {
      await secrets.delete(secret.metadata.name ?? '', { preconditions: { uid: secret.metadata.uid ?? '' } }).catch((error) => {
        if (!isNotFound(error) && !isConflict(error)) throw error
      })
      return
    }
    const data = secret.data ?? {}
    const ca = base64(this.rootCA)
    if (data['ca.crt'] === ca && data['namespace'] === base64(namespace) && data['token'] && uid === account.metadata.uid) return
    const copy = deepCopy(secret)
    copy.data = { ...copy.data, 'ca.crt': ca, namespace: base64(namespace), token: data['token'] ?? base64(this.token(account, secret)) }
    copy.metadata.annotations = { ...annotations, [NAME_KEY]: name, [UID_KEY]: account.metadata.uid ?? '' }
    await secrets.update(copy)
  }

  private async account(namespace: string, name: string): Promise<ServiceAccount | undefined> {
    const cached = this.accounts.lister.get(`${namespace}/${name}`)
    if (cached) return cached
    try {
      return await this.context.client.resource(resources.corev1.serviceaccounts).namespace(namespace).get(name)
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  /** A token without an end, with the claims such tokens always had. */
  private token(account: ServiceAccount, secret: Secret): string {
    const { namespace, name, uid } = account.metadata
    const rsa = this.key.asymmetricKeyType === 'rsa'
    const der = createPublicKey(this.key).export({ type: 'spki', format: 'der' })
    const header = { alg: rsa ? 'RS256' : 'ES256', kid: createHash('sha256').update(der).digest('base64url') }
    const claims = {
      iss: 'kubernetes/serviceaccount',
      'kubernetes.io/serviceaccount/namespace': namespace,
      'kubernetes.io/serviceaccount/secret.name': secret.metadata.name,
      'kubernetes.io/serviceaccount/service-account.name': name,
      'kubernetes.io/serviceaccount/service-account.uid': uid,
      sub: `system:serviceaccount:${namespace}:${name}`,
    }
    const body = `${base64url(JSON.stringify(header))}.${base64url(JSON.stringify(claims))}`
    const signature = sign('sha256', Buffer.from(body), rsa ? this.key : { key: this.key, dsaEncoding: 'ieee-p1363' })
    return `${body}.${signature.toString('base64url')}`
  }

  /** A deleted Secret is no longer one of its account's. */
  private unlist(secret: Secret): void {
    const account = this.accounts.lister.get(`${secret.metadata.namespace}/${secret.metadata.annotations?.[NAME_KEY]}`)
    if (!account?.secrets?.some((s) => s.name === secret.metadata.name)) return
    const copy = deepCopy(account)
    const rest = (copy.secrets ?? []).filter((s) => s.name !== secret.metadata.name)
    if (rest.length > 0) copy.secrets = rest
    else delete copy.secrets
    const { client, clock, log } = this.context
    const write = client.resource(resources.corev1.serviceaccounts).namespace(account.metadata.namespace).update(copy)
    clock.track(
      write.then(
        () => {},
        (error) => log.v(2).info('failed to unlist a secret', { account: objectKey(account), err: (error as Error).message }),
      ),
    )
  }
}
