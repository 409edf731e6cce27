import { expect, test } from 'vitest'
import { podFromManifest } from './manifest.ts'

const context = { nodeName: 'Node1', file: '/etc/kubernetes/manifests/etcd.yaml', seen: '2026-01-01T00:00:00.000000000Z' }
const manifest = (extra = '', name = 'etcd') => `apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  namespace: kube-system
spec:
  hostNetwork: true
  containers:
  - name: etcd
    image: registry.k8s.io/etcd:3.6.6-0
${extra}`

test('a manifest is a Pod of this node, named after it, with the hash as uid', () => {
  const pod = podFromManifest(manifest(), context)
  expect(pod.metadata.name).toBe('etcd-node1')
  expect(pod.metadata.uid).toMatch(/^[0-9a-f]{32}$/)
  expect(pod.metadata.annotations).toEqual({
    'kubernetes.io/config.hash': pod.metadata.uid,
    'kubernetes.io/config.seen': context.seen,
    'kubernetes.io/config.source': 'file',
  })
  expect(pod.spec.nodeName).toBe('Node1')
  expect(pod.spec.tolerations).toEqual([{ operator: 'Exists', effect: 'NoExecute' }])
  expect(pod.spec.containers[0]?.imagePullPolicy).toBe('IfNotPresent')
})

test('an edit, a move and another node each give another uid', () => {
  const uid = podFromManifest(manifest(), context).metadata.uid
  expect(podFromManifest(manifest(), context).metadata.uid).toBe(uid)
  const others = [
    podFromManifest(manifest('    command: [etcd]'), context),
    podFromManifest(manifest(), { ...context, file: '/other.yaml' }),
    podFromManifest(manifest(), { ...context, nodeName: 'n2' }),
  ].map((p) => p.metadata.uid)
  expect(new Set([uid, ...others]).size).toBe(4)
})

test.each([
  ['no name', 'apiVersion: v1\nkind: Pod\nmetadata: {}\nspec: {containers: [{name: a, image: b}]}', 'invalid pod: name is needed for the pod'],
  ['a secret', manifest('    envFrom: [{secretRef: {name: s}}]'), 'static pods may not reference secrets'],
  ['a service account', manifest('  serviceAccountName: x'), 'static pods may not reference serviceaccounts'],
  ['a volume of a ConfigMap', manifest('  volumes: [{name: v, configMap: {name: c}}]'), 'static pods may not reference configmaps (via configmap volumes)'],
])('refused: %s', (_name, text, message) => {
  expect(() => podFromManifest(text, context)).toThrow(message)
})

test('what is no Pod says so', () => {
  expect(() => podFromManifest('kind: Node\napiVersion: v1', context)).toThrow(/couldn't parse as pod\(.*\), please check config file/)
  expect(() => podFromManifest('{', context)).toThrow(/couldn't parse as pod/)
})
