import type { ConfigMap, Namespace } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isAlreadyExists, isNamespaceTerminating, isNotFound } from '../../apimachinery/errors.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'

const NAME = 'kube-root-ca.crt'
const DESCRIPTION_KEY = 'kubernetes.io/description'
const DESCRIPTION =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.'

/** Keeps the cluster's CA bundle in a ConfigMap of every namespace. */
export class RootCaPublisher {
  private readonly controller: Controller

  /** @param bundle PEM */
  constructor(context: ControllerContext, bundle: string) {
    const { client } = context
    const namespaces = context.informers.informer(resources.corev1.namespaces)
    const maps = context.informers.informer(resources.corev1.configmaps, { fieldSelector: `metadata.name=${NAME}` })
    const data = { 'ca.crt': bundle }
    this.controller = new Controller(context, {
      name: 'root-ca-certificate-publisher-controller',
      workers: 1,
      informers: [namespaces, maps],
      reconcile: async (namespace) => {
        const ns = namespaces.lister.get(namespace)
        if (!ns || ns.status?.phase === 'Terminating' || ns.metadata.deletionTimestamp) return
        const resource = client.resource(resources.corev1.configmaps).namespace(namespace)
        const found = maps.lister.get(`${namespace}/${NAME}`)
        try {
          if (!found) {
            await resource.create({ metadata: { name: NAME, namespace, annotations: { [DESCRIPTION_KEY]: DESCRIPTION } }, data } as ConfigMap)
          } else if (!deepEqual(found.data, data) || found.metadata.annotations?.[DESCRIPTION_KEY] !== DESCRIPTION) {
            const copy = deepCopy(found)
            copy.data = { ...data }
            copy.metadata.annotations = { ...copy.metadata.annotations, [DESCRIPTION_KEY]: DESCRIPTION }
            await resource.update(copy)
          }
        } catch (error) {
          if (!isAlreadyExists(error) && !isNotFound(error) && !isNamespaceTerminating(error)) throw error
        }
      },
    })
    const enqueue = (ns: Namespace) => this.controller.queue.add(ns.metadata.name ?? '')
    const changed = (map: ConfigMap) => this.controller.queue.add(map.metadata.namespace ?? '')
    namespaces.addHandler({ onAdd: enqueue, onUpdate: (_, ns) => enqueue(ns) })
    maps.addHandler({ onUpdate: (_, map) => changed(map), onDelete: changed })
  }

  run(): Promise<void> {
    return this.controller.run()
  }
}
