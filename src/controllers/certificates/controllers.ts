import type { CertificateSigningRequest, CertificateSigningRequestCondition } from '../../api/certificates/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isNotFound } from '../../apimachinery/errors.ts'
import { formatTime, timeMs } from '../../apimachinery/time.ts'
import { deepCopy } from '../../base/index.ts'
import { BucketLimiter, ExponentialLimiter, type Informer, MaxOfLimiter } from '../../client/index.ts'
import {
  type ExtendedKeyUsage,
  encodePem,
  type Issuer,
  issuerOf,
  type KeyUsage,
  readCertificate,
  type SigningRequest,
  signCertificate,
} from '../../component-base/x509/index.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'
import type { ControllerManagerOptions } from '../options.ts'
import { has, isApproved, kubeletClientFault, kubeletServingFault, requestOf } from './kubelet-forms.ts'

const CLIENT_KUBELET = 'kubernetes.io/kube-apiserver-client-kubelet'
const CLIENT = 'kubernetes.io/kube-apiserver-client'
const SERVING = 'kubernetes.io/kubelet-serving'
const SIGNERS = new Set([CLIENT_KUBELET, CLIENT, SERVING])
const HOUR_MS = 3_600_000
const MIN_DURATION_S = 600
const BACKDATE_MS = 5 * 60_000
const SHORT_MS = 8 * HOUR_MS

const KEY_USAGES: Record<string, KeyUsage> = {
  signing: 'digitalSignature',
  'digital signature': 'digitalSignature',
  'content commitment': 'contentCommitment',
  'key encipherment': 'keyEncipherment',
  'data encipherment': 'dataEncipherment',
  'key agreement': 'keyAgreement',
  'cert sign': 'keyCertSign',
  'crl sign': 'cRLSign',
}
const EXTENDED_USAGES: Record<string, ExtendedKeyUsage> = {
  any: 'any',
  'server auth': 'serverAuth',
  'client auth': 'clientAuth',
  'code signing': 'codeSigning',
  'email protection': 'emailProtection',
  timestamping: 'timeStamping',
  'ocsp signing': 'ocspSigning',
}

function csrController(
  context: ControllerContext,
  name: string,
  reconcile: (csr: CertificateSigningRequest) => Promise<void>,
): { controller: Controller; informer: Informer<CertificateSigningRequest> } {
  const informer = context.informers.informer(resources.certificatesv1.certificatesigningrequests)
  const controller = new Controller(context, {
    name,
    limiter: new MaxOfLimiter(new ExponentialLimiter(200, 1_000_000), new BucketLimiter(context.clock, 10, 100)),
    informers: [informer],
    reconcile: async (key) => {
      const csr = informer.lister.get(key)
      // Once issued there is nothing more to do.
      if (csr && !csr.status?.certificate) await reconcile(csr)
    },
  })
  const enqueue = (csr: CertificateSigningRequest) => controller.queue.add(csr.metadata.name ?? '')
  informer.addHandler({ onAdd: enqueue, onUpdate: (_, csr) => enqueue(csr) })
  return { controller, informer }
}

/** Approves the client certificates of kubelets whose requester may have them. */
export class CsrApprover {
  private readonly context: ControllerContext
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    this.context = context
    this.controller = csrController(context, 'certificatesigningrequest-approving-controller', (csr) => this.approve(csr)).controller
  }

  run(): Promise<void> {
    return this.controller.run()
  }

  private async approve(csr: CertificateSigningRequest): Promise<void> {
    if (csr.spec.signerName !== CLIENT_KUBELET || has(csr, 'Approved') || has(csr, 'Denied')) return
    const request = requestOf(csr)
    if (kubeletClientFault(csr, request) !== undefined) return
    const self = csr.spec.username === request.subject.commonName
    const tries: [string, string][] = [
      ...(self ? [['selfnodeclient', 'Auto approving self kubelet client certificate after SubjectAccessReview.'] as [string, string]] : []),
      ['nodeclient', 'Auto approving kubelet client certificate after SubjectAccessReview.'],
    ]
    for (const [subresource, message] of tries) {
      if (!(await this.allowed(csr, subresource))) continue
      const time = formatTime(this.context.clock.now())
      const condition: CertificateSigningRequestCondition = {
        type: 'Approved',
        status: 'True',
        reason: 'AutoApproved',
        message,
        lastUpdateTime: time,
        lastTransitionTime: time,
      }
      const copy = deepCopy(csr)
      copy.status = { ...copy.status, conditions: [...(copy.status?.conditions ?? []), condition] }
      await this.context.client.resource(resources.certificatesv1.certificatesigningrequests).updateSubresource(csr.metadata.name ?? '', 'approval', copy)
      return
    }
  }

  private async allowed(csr: CertificateSigningRequest, subresource: string): Promise<boolean> {
    const { username = '', uid, groups, extra } = csr.spec
    const review = await this.context.client.resource(resources.authorizationv1.subjectaccessreviews).create({
      metadata: {},
      spec: {
        user: username,
        ...(uid ? { uid } : {}),
        ...(groups ? { groups } : {}),
        ...(extra ? { extra } : {}),
        resourceAttributes: { group: 'certificates.k8s.io', resource: 'certificatesigningrequests', verb: 'create', subresource, version: '*' },
      },
      status: { allowed: false },
    } as never)
    return review.status?.allowed === true
  }
}

/** Issues certificates for approved requests of Kubernetes' own signers. */
export class CsrSigner {
  private readonly context: ControllerContext
  private readonly issuer: Issuer
  private readonly maxMs: number
  private readonly controller: Controller

  constructor(context: ControllerContext, options: ControllerManagerOptions & { clusterSigningCertificate: string; clusterSigningKey: string }) {
    this.context = context
    this.issuer = issuerOf({ certificate: options.clusterSigningCertificate, key: options.clusterSigningKey })
    this.maxMs = options.clusterSigningDurationMs ?? 8760 * HOUR_MS
    this.controller = csrController(context, 'certificatesigningrequest-signing-controller', (csr) => this.issue(csr)).controller
  }

  run(): Promise<void> {
    return this.controller.run()
  }

  private async issue(csr: CertificateSigningRequest): Promise<void> {
    const signer = csr.spec.signerName
    if (!SIGNERS.has(signer) || !isApproved(csr) || has(csr, 'Failed')) return
    const copy = deepCopy(csr)
    const client = this.context.client.resource(resources.certificatesv1.certificatesigningrequests)
    let request: SigningRequest | undefined
    let fault: string | undefined
    try {
      request = requestOf(csr)
      fault = faultFor(signer, csr, request)
    } catch (error) {
      fault = `unable to parse csr ${JSON.stringify(csr.metadata.name)}: ${(error as Error).message}`
    }
    if (!request || fault !== undefined) {
      const time = formatTime(this.context.clock.now())
      const condition = {
        type: 'Failed',
        status: 'True',
        reason: 'SignerValidationFailure',
        message: fault ?? '',
        lastUpdateTime: time,
        lastTransitionTime: time,
      }
      copy.status = { ...copy.status, conditions: [...(copy.status?.conditions ?? []), condition] }
    } else {
      copy.status = { ...copy.status, certificate: Buffer.from(this.sign(csr, request)).toString('base64') }
    }
    await client.updateStatus(copy)
  }

  private sign(csr: CertificateSigningRequest, request: SigningRequest): string {
    const now = this.context.clock.now()
    const wanted = csr.spec.expirationSeconds
    const ttl = wanted === undefined ? this.maxMs : Math.min(this.maxMs, Math.max(MIN_DURATION_S, wanted) * 1000)
    const { notAfter: caEnd } = readCertificate(this.issuer.certificate)
    if (now > caEnd) throw new Error(`the signer has expired: NotAfter=${formatTime(caEnd)}`)
    const notAfter = Math.min(now + ttl - (ttl < SHORT_MS ? 0 : BACKDATE_MS), caEnd)
    const usages = csr.spec.usages ?? []
    const der = signCertificate(
      {
        subject: request.subject,
        notBefore: now - BACKDATE_MS,
        notAfter,
        usages: usages.flatMap((u) => KEY_USAGES[u] ?? []),
        extendedUsages: usages.flatMap((u) => EXTENDED_USAGES[u] ?? []),
        names: request.names,
      },
      request.publicKey,
      this.issuer,
      this.context.random,
    )
    return encodePem('CERTIFICATE', der)
  }
}

function faultFor(signer: string, csr: CertificateSigningRequest, request: SigningRequest): string | undefined {
  if (!request.signatureValid) return 'x509: the request is not signed by its own key'
  if (signer === CLIENT_KUBELET) return kubeletClientFault(csr, request)
  if (signer === SERVING) return kubeletServingFault(csr, request)
  return csr.spec.usages?.includes('client auth') ? undefined : 'usages did not match [client auth]'
}

/** Deletes requests nobody waits for any more. */
export class CsrCleaner {
  private readonly context: ControllerContext
  private readonly informer: Informer<CertificateSigningRequest>

  constructor(context: ControllerContext) {
    this.context = context
    this.informer = context.informers.informer(resources.certificatesv1.certificatesigningrequests)
  }

  async run(): Promise<void> {
    const { signal, clock, log, client } = this.context
    await this.informer.waitForSync(signal).catch(() => {})
    while (!signal.aborted) {
      for (const csr of this.informer.lister.list()) {
        if (!isStale(csr, clock.now())) continue
        try {
          await client.resource(resources.certificatesv1.certificatesigningrequests).delete(csr.metadata.name ?? '')
        } catch (error) {
          if (!isNotFound(error)) log.error('unable to delete CSR', { csr: csr.metadata.name, err: (error as Error).message })
        }
      }
      await clock.sleep(HOUR_MS, signal).catch(() => {})
    }
  }
}

function isStale(csr: CertificateSigningRequest, now: number): boolean {
  const conditions = csr.status?.conditions ?? []
  const age = now - (timeMs(csr.metadata.creationTimestamp) ?? now)
  if (conditions.length === 0) return age > 24 * HOUR_MS
  const since = (type: string) => {
    const at = timeMs(conditions.find((c) => c.type === type)?.lastUpdateTime)
    return at === undefined ? undefined : now - at
  }
  const over = (type: string, ms: number) => (since(type) ?? 0) > ms
  if (over('Denied', HOUR_MS) || over('Failed', HOUR_MS)) return true
  return csr.status?.certificate ? over('Approved', HOUR_MS) : over('Approved', 24 * HOUR_MS)
}
