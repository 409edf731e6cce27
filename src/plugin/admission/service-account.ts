import { type corev1, resources } from '../../api/index.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import { deepCopy, randomString } from '../../base/index.ts'
import { getOrUndefined } from '../../client/rest/client.ts'
import { isMirrorPod } from '../../component-helpers/pod-conditions.ts'
import type { AdmissionDependencies } from './dependencies.ts'
import { concerns, refused } from './refusal.ts'
import { checkMirrorPod, checkMountable } from './service-account-references.ts'

const DEFAULT_ACCOUNT = 'default'
const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount'
const VOLUME_PREFIX = 'kube-api-access-'
/** The kubelet renews at this life's 80 %; the server makes tokens that ask for exactly it live longer. */
const EXPIRATION_SECONDS = 3607
/** The default account is made by a controller just after its namespace. */
const DEFAULT_ACCOUNT_TRIES = 10

/** Pods run as a service account, and are given a token of it unless they or it decline. */
export function serviceAccount({ client, informers, clock, random }: AdmissionDependencies): AdmissionPlugin {
  const { lister } = informers.informer(resources.corev1.serviceaccounts)

  const find = async (attributes: AdmissionAttributes, name: string): Promise<corev1.ServiceAccount> => {
    const { namespace } = attributes
    const tries = name === DEFAULT_ACCOUNT ? DEFAULT_ACCOUNT_TRIES : 1
    for (let i = 0; i < tries; i++) {
      if (i > 0) await clock.sleep(100 + random.int(100))
      const found = lister.get(`${namespace}/${name}`) ?? (await getOrUndefined(client.resource(resources.corev1.serviceaccounts).namespace(namespace), name))
      if (found) return found
    }
    throw refused(attributes, `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`)
  }
  return {
    name: 'ServiceAccount',
    looksAt: ({ group, resource }) => group === '' && resource === 'pods',
    handles: (operation) => operation === 'CREATE' || operation === 'UPDATE',
    async admit(attributes) {
      if (attributes.operation !== 'CREATE' || !concerns(attributes, '', 'pods')) return
      const pod = attributes.object as corev1.Pod
      if (isMirrorPod(pod)) return checkMirrorPod(attributes, pod)
      if (!pod.spec.serviceAccountName) pod.spec.serviceAccountName = DEFAULT_ACCOUNT
      pod.spec.serviceAccount = pod.spec.serviceAccountName
      const account = await find(attributes, pod.spec.serviceAccountName)
      if (pod.spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) mountToken(pod, () => randomString(random, 5))
      if (!pod.spec.imagePullSecrets?.length && account.imagePullSecrets?.length) {
        pod.spec.imagePullSecrets = deepCopy(account.imagePullSecrets) as corev1.LocalObjectReference[]
      }
    },
    async validate(attributes) {
      const ephemeral = attributes.operation === 'UPDATE' && concerns(attributes, '', 'pods', 'ephemeralcontainers')
      if (!ephemeral && !(attributes.operation === 'CREATE' && concerns(attributes, '', 'pods'))) return
      const pod = attributes.object as corev1.Pod
      if (isMirrorPod(pod)) return ephemeral ? undefined : checkMirrorPod(attributes, pod)
      if (!pod.spec.serviceAccountName) throw refused(attributes, `no service account specified for pod ${attributes.namespace}/${pod.metadata.name ?? ''}`)
      checkMountable(attributes, pod, await find(attributes, pod.spec.serviceAccountName), ephemeral)
    },
  }
}

/** Adds the token's volume and mounts it wherever nothing is mounted at its place. */
function mountToken(pod: corev1.Pod, suffix: () => string): void {
  const { spec } = pod
  const names = new Set(spec.volumes?.map((v) => v.name))
  const kept = spec.volumes?.find((v) => v.name.startsWith(VOLUME_PREFIX) && v.projected)?.name
  let name = kept ?? `${VOLUME_PREFIX}${suffix()}`
  while (kept === undefined && names.has(name)) name = `${VOLUME_PREFIX}${suffix()}`
  let used = false
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    if (container.volumeMounts?.some((m) => m.mountPath === MOUNT_PATH)) continue
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath: MOUNT_PATH }]
    used = true
  }
  if (used && kept === undefined) spec.volumes = [...(spec.volumes ?? []), tokenVolume(name)]
}

function tokenVolume(name: string): corev1.Volume {
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: EXPIRATION_SECONDS, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        { downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] } },
      ],
      defaultMode: 420,
    },
  } as corev1.Volume
}
