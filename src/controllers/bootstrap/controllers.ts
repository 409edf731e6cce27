import { createHmac } from 'node:crypto'
import type { ConfigMap, Secret } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isNotFound } from '../../apimachinery/errors.ts'
import { objectKey, splitKey } from '../../apimachinery/object.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'

const TYPE = 'bootstrap.kubernetes.io/token'
const INFO = 'kube-public/cluster-info'
const SIGNATURE_PREFIX = 'jws-kubeconfig-'

const text = (secret: Secret, key: string): string => Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8')

const tokens = (context: ControllerContext) => context.informers.informer(resources.corev1.secrets, { namespace: 'kube-system', fieldSelector: `type=${TYPE}` })

/** Ms until the token ends; undefined when it never does, 0 or less when it has. */
function leftMs(secret: Secret, now: number): number | undefined {
  const end = text(secret, 'expiration')
  if (end === '') return undefined
  const at = Date.parse(end)
  return Number.isNaN(at) ? 0 : at - now
}

/** Signs the public cluster-info with every bootstrap token, so that who holds a token can trust it. */
export class BootstrapSigner {
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    const secrets = tokens(context)
    const maps = context.informers.informer(resources.corev1.configmaps, { namespace: 'kube-public', fieldSelector: 'metadata.name=cluster-info' })
    this.controller = new Controller(context, {
      name: 'bootstrap-signer-controller',
      workers: 1,
      informers: [secrets, maps],
      reconcile: async () => {
        const info = maps.lister.get(INFO)
        const kubeconfig = info?.data?.['kubeconfig']
        if (!info || kubeconfig === undefined) return
        const data: Record<string, string> = {}
        for (const [key, value] of Object.entries(info.data ?? {})) if (!key.startsWith(SIGNATURE_PREFIX)) data[key] = value
        for (const secret of secrets.lister.list()) {
          const [id, key] = [text(secret, 'token-id'), text(secret, 'token-secret')]
          const left = leftMs(secret, context.clock.now())
          if (id === '' || key === '' || text(secret, 'usage-bootstrap-signing') !== 'true' || (left !== undefined && left <= 0)) continue
          data[SIGNATURE_PREFIX + id] = detachedSignature(kubeconfig, id, key)
        }
        if (deepEqual(data, info.data)) return
        const copy = deepCopy(info) as ConfigMap
        copy.data = data
        await context.client.resource(resources.corev1.configmaps).namespace('kube-public').update(copy)
      },
    })
    const changed = () => this.controller.queue.add(INFO)
    for (const informer of [secrets, maps]) informer.addHandler({ onAdd: changed, onUpdate: changed, onDelete: changed })
  }

  run(): Promise<void> {
    return this.controller.run()
  }
}

/** A JWS (HS256) whose payload is left out: the reader has it. */
export function detachedSignature(payload: string, id: string, secret: string): string {
  const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: id })).toString('base64url')
  const body = `${header}.${Buffer.from(payload).toString('base64url')}`
  return `${header}..${createHmac('sha256', `${id}.${secret}`).update(body).digest('base64url')}`
}

/** Deletes bootstrap tokens that have ended. */
export class TokenCleaner {
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    const secrets = tokens(context)
    this.controller = new Controller(context, {
      name: 'token-cleaner-controller',
      workers: 1,
      informers: [secrets],
      reconcile: async (key) => {
        const secret = secrets.lister.get(key)
        const left = secret && leftMs(secret, context.clock.now())
        if (!secret || left === undefined) return
        if (left > 0) return { requeueAfterMs: left }
        try {
          const { namespace, name } = splitKey(key)
          await context.client
            .resource(resources.corev1.secrets)
            .namespace(namespace)
            .delete(name, { preconditions: { uid: secret.metadata.uid ?? '' } })
        } catch (error) {
          if (!isNotFound(error)) throw error
        }
      },
    })
    const enqueue = (secret: Secret) => this.controller.queue.add(objectKey(secret))
    secrets.addHandler({ onAdd: enqueue, onUpdate: (_, s) => enqueue(s) })
  }

  run(): Promise<void> {
    return this.controller.run()
  }
}
