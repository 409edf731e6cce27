import { expect, test } from 'vitest'
import type { corev1 } from '../../api/index.ts'
import { resources } from '../../api/index.ts'
import type { StatusError } from '../../apimachinery/errors.ts'
import type { AdmissionAttributes } from '../../apiserver/admission/admission.ts'
import { seededRandom, VirtualClock } from '../../base/index.ts'
import { createClient, InformerFactory } from '../../client/index.ts'
import type { Logger } from '../../component-base/component.ts'
import { createSigningRequest, generateKey } from '../../component-base/x509/index.ts'
import { FakeApi } from '../../testing/fake-api.ts'
import { nodeRestriction } from './node-restriction.ts'

const quiet: Logger = { error: () => {}, warn: () => {}, info: () => {}, v: () => quiet, with: () => quiet }

async function ask(init: object): Promise<string> {
  const clock = new VirtualClock()
  const random = seededRandom(1)
  const client = createClient(new FakeApi(clock, random))
  await client.resource(resources.corev1.nodes).create({ metadata: { name: 'n1', uid: 'U' } } as never)
  for (const [name, nodeName] of [
    ['mine', 'n1'],
    ['theirs', 'n2'],
  ]) {
    await client
      .resource(resources.corev1.pods)
      .namespace('ns')
      .create({ metadata: { name, namespace: 'ns' }, spec: { nodeName, containers: [] } } as never)
  }
  const informers = new InformerFactory({ client, clock, random, log: quiet })
  const plugin = nodeRestriction({ client, informers, clock, random, isEnabled: () => true, authorize: () => ({ decision: 'noOpinion' }) })
  const uid = (await client.resource(resources.corev1.nodes).get('n1')).metadata.uid
  const podUid = (await client.resource(resources.corev1.pods).namespace('ns').get('mine')).metadata.uid
  const attributes = JSON.parse(
    JSON.stringify(init)
      .replaceAll('{node-uid}', uid ?? '')
      .replaceAll('{pod-uid}', podUid ?? ''),
  ) as Partial<AdmissionAttributes>
  try {
    await plugin.admit?.({
      operation: 'CREATE',
      subresource: '',
      namespace: 'ns',
      name: '',
      user: { name: 'system:node:n1', groups: ['system:nodes'] },
      ...attributes,
    } as AdmissionAttributes)
    return 'admitted'
  } catch (error) {
    return (error as StatusError).message.replace(/^.* is forbidden: /, '')
  }
}
const of = (resource: string, group = '') => ({ resource: { group, version: 'v1', resource } })
const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: '{node-uid}', controller: true }
const mirror = (spec: object = {}, meta: object = {}) => ({
  ...of('pods'),
  object: {
    metadata: { name: 'm', annotations: { 'kubernetes.io/config.mirror': 'x' }, ownerReferences: [owner], ...meta },
    spec: { nodeName: 'n1', containers: [], ...spec },
  },
})
const nodeUpdate = (object: Partial<corev1.Node>, old: Partial<corev1.Node> = {}) => ({
  ...of('nodes'),
  operation: 'UPDATE',
  name: 'n1',
  object: { metadata: { name: 'n1' }, spec: {}, ...object },
  oldObject: { metadata: { name: 'n1' }, spec: {}, ...old },
})

const rows: [string, object, string][] = [
  ['somebody else', { ...of('pods'), user: { name: 'ann', groups: [] }, object: { metadata: {}, spec: {} } }, 'admitted'],
  ['a mirror Pod of its own', mirror(), 'admitted'],
  [
    'an ordinary Pod',
    { ...of('pods'), object: { metadata: { name: 'p' }, spec: { containers: [] } } },
    'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
  ],
  ['a mirror Pod of another node', mirror({ nodeName: 'n2' }), 'node "n1" can only create pods with spec.nodeName set to itself'],
  ['a mirror Pod without owner', mirror({}, { ownerReferences: [] }), 'node "n1" can only create pods with an owner reference set to itself'],
  [
    'a mirror Pod owned by a wrong uid',
    mirror({}, { ownerReferences: [{ ...owner, uid: 'X' }] }),
    expect.stringMatching(/^node n1 UID mismatch: expected .* got X$/) as never,
  ],
  [
    'a mirror Pod that blocks deletion',
    mirror({}, { ownerReferences: [{ ...owner, blockOwnerDeletion: true }] }),
    'node "n1" must not set blockOwnerDeletion on an owner reference',
  ],
  ['a mirror Pod with a secret', mirror({ volumes: [{ name: 'a', secret: { secretName: 's' } }] }), 'node "n1" can not create pods that reference secrets'],
  [
    'a mirror Pod with a resource claim',
    mirror({ resourceClaims: [{ name: 'r', resourceClaimName: 'c' }] }),
    'node "n1" can not create pods that reference resourceclaims',
  ],
  ['a mirror Pod with an account', mirror({ serviceAccountName: 'sa' }), 'node "n1" can not create pods that reference a service account'],
  ['deleting its Pod', { ...of('pods'), operation: 'DELETE', name: 'mine' }, 'admitted'],
  ['deleting a Pod of another', { ...of('pods'), operation: 'DELETE', name: 'theirs' }, 'node "n1" can only delete pods with spec.nodeName set to itself'],
  [
    'evicting a Pod of another',
    { ...of('pods'), subresource: 'eviction', name: 'theirs', object: { metadata: { name: 'theirs' } } },
    'node n1 can only evict pods with spec.nodeName set to itself',
  ],
  [
    'another subresource',
    { ...of('pods'), subresource: 'binding', name: 'mine' },
    "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed",
  ],
  ['another Node', { ...of('nodes'), object: { metadata: { name: 'n2' }, spec: {} } }, 'node "n1" is not allowed to modify node "n2"'],
  [
    'a role label on its Node',
    {
      ...of('nodes'),
      name: 'n1',
      object: { metadata: { name: 'n1', labels: { 'node-role.kubernetes.io/control-plane': '', 'kubernetes.io/os': 'linux' } }, spec: {} },
    },
    'node "n1" is not allowed to set the following labels: node-role.kubernetes.io/control-plane',
  ],
  [
    'a restricted label',
    nodeUpdate({ metadata: { name: 'n1', labels: { 'x.node-restriction.kubernetes.io/a': 'b', 'x.node.kubernetes.io/y': '1', 'own.example.com/z': '' } } }),
    'node "n1" is not allowed to modify labels: x.node-restriction.kubernetes.io/a',
  ],
  ['its taints', nodeUpdate({}, { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } as never }), 'node "n1" is not allowed to modify taints'],
  ['its owners', nodeUpdate({ metadata: { name: 'n1', ownerReferences: [owner] as never } }), 'node "n1" is not allowed to modify ownerReferences'],
  [
    'a lease of another',
    { ...of('leases', 'coordination.k8s.io'), namespace: 'kube-node-lease', object: { metadata: { name: 'n2' } } },
    'can only access node lease with the same name as the requesting node',
  ],
  [
    'an unbound token',
    { ...of('serviceaccounts'), subresource: 'token', name: 'sa', object: { metadata: {}, spec: {} } },
    'node requested token not bound to a pod',
  ],
  [
    'a token for its Pod',
    {
      ...of('serviceaccounts'),
      subresource: 'token',
      name: 'sa',
      object: { metadata: {}, spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'mine', uid: '{pod-uid}' } } },
    },
    'admitted',
  ],
  [
    'a token with an audience nobody wants',
    {
      ...of('serviceaccounts'),
      subresource: 'token',
      name: 'sa',
      object: { metadata: {}, spec: { audiences: ['v'], boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'mine', uid: '{pod-uid}' } } },
    },
    'audience "v" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience',
  ],
  [
    'a certificate of another node',
    {
      ...of('certificatesigningrequests', 'certificates.k8s.io'),
      object: {
        metadata: {},
        spec: {
          signerName: 'kubernetes.io/kubelet-serving',
          request: Buffer.from(createSigningRequest({ commonName: 'system:node:n2', organizations: ['system:nodes'] }, {}, generateKey())).toString('base64'),
        },
      },
    },
    'can only create a node CSR with CN=system:node:n1',
  ],
]
test.each(rows)('%s', async (_name, init, want) => {
  expect(await ask(init)).toEqual(want)
})
