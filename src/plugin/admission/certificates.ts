import type { certificatesv1 } from '../../api/index.ts'
import { quote } from '../../apimachinery/quote.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import { MASTERS_GROUP } from '../../apiserver/authentication/groups.ts'
import { deepEqual } from '../../base/index.ts'
import { parseSigningRequest } from '../../component-base/x509/index.ts'
import type { AdmissionDependencies } from './dependencies.ts'
import { concerns, refused } from './refusal.ts'

const GROUP = 'certificates.k8s.io'
const RESOURCE = 'certificatesigningrequests'
type Csr = certificatesv1.CertificateSigningRequest

/** Whether a user may do something for a signer, by its name or for all of its domain. */
async function maySign({ authorize }: AdmissionDependencies, { user }: AdmissionAttributes, verb: string, signer: string): Promise<boolean> {
  const ask = async (name: string) => {
    const attributes = {
      user,
      verb,
      resourceRequest: true,
      namespace: '',
      apiGroup: GROUP,
      apiVersion: 'v1',
      resource: 'signers',
      subresource: '',
      name,
      path: '',
    }
    return (await authorize(attributes)).decision === 'allow'
  }
  return (await ask(signer)) || ask(`${signer.split('/')[0]}/*`)
}

/** Approving needs the right to approve for the request's signer. */
export function certificateApproval(deps: AdmissionDependencies): AdmissionPlugin {
  return {
    name: 'CertificateApproval',
    looksAt: ({ group, resource }) => group === GROUP && resource === RESOURCE,
    handles: (operation) => operation === 'UPDATE',
    async validate(attributes) {
      if (!concerns(attributes, GROUP, RESOURCE, 'approval')) return
      // The stored signer, not the one of the request's body.
      const signer = (attributes.oldObject as Csr).spec.signerName ?? ''
      if (!(await maySign(deps, attributes, 'approve', signer))) {
        throw refused(attributes, `user not permitted to approve requests with signerName ${quote(signer)}`)
      }
    },
  }
}

/** Issuing a certificate, or failing a request, needs the right to sign for its signer. */
export function certificateSigning(deps: AdmissionDependencies): AdmissionPlugin {
  return {
    name: 'CertificateSigning',
    looksAt: ({ group, resource }) => group === GROUP && resource === RESOURCE,
    handles: (operation) => operation === 'UPDATE',
    async validate(attributes) {
      if (!concerns(attributes, GROUP, RESOURCE, 'status')) return
      const old = attributes.oldObject as Csr
      const csr = attributes.object as Csr
      const failed = (c: Csr) => (c.status?.conditions ?? []).filter((x) => x.type === 'Failed')
      if ((old.status?.certificate ?? '') === (csr.status?.certificate ?? '') && deepEqual(failed(old), failed(csr))) return
      const signer = old.spec.signerName ?? ''
      if (!(await maySign(deps, attributes, 'sign', signer))) {
        throw refused(attributes, `user not permitted to sign requests with signerName ${quote(signer)}`)
      }
    },
  }
}

/** No client certificate may make its holder a member of system:masters. */
export function certificateSubjectRestriction(): AdmissionPlugin {
  return {
    name: 'CertificateSubjectRestriction',
    looksAt: ({ group, resource }) => group === GROUP && resource === RESOURCE,
    handles: (operation) => operation === 'CREATE',
    validate(attributes) {
      if (!concerns(attributes, GROUP, RESOURCE)) return
      const { signerName, request } = (attributes.object as Csr).spec
      if (signerName !== 'kubernetes.io/kube-apiserver-client') return
      let organizations: readonly string[]
      try {
        organizations = parseSigningRequest(Buffer.from(request, 'base64').toString('utf8')).subject.organizations
      } catch (error) {
        throw refused(attributes, `unable to parse csr: ${(error as Error).message}`)
      }
      if (organizations.includes(MASTERS_GROUP)) {
        throw refused(attributes, `use of ${signerName} signer with ${MASTERS_GROUP} group is not allowed`)
      }
    },
  }
}
