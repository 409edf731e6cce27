import type { Namespace, ServiceAccount } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isAlreadyExists, isNamespaceTerminating } from '../../apimachinery/errors.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'

/** Keeps an account named `default` in every namespace. */
export class ServiceAccountController {
  private readonly controller: Controller

  constructor(context: ControllerContext, names: readonly string[] = ['default']) {
    const { client } = context
    const namespaces = context.informers.informer(resources.corev1.namespaces)
    const accounts = context.informers.informer(resources.corev1.serviceaccounts)
    this.controller = new Controller(context, {
      name: 'serviceaccount-controller',
      workers: 1,
      informers: [namespaces, accounts],
      reconcile: async (namespace) => {
        if (namespaces.lister.get(namespace)?.status?.phase !== 'Active') return
        for (const name of names) {
          if (accounts.lister.get(`${namespace}/${name}`)) continue
          try {
            await client
              .resource(resources.corev1.serviceaccounts)
              .namespace(namespace)
              .create({ metadata: { name, namespace } } as ServiceAccount)
          } catch (error) {
            if (!isAlreadyExists(error) && !isNamespaceTerminating(error)) throw error
          }
        }
      },
    })
    const enqueue = (ns: Namespace) => this.controller.queue.add(ns.metadata.name ?? '')
    namespaces.addHandler({ onAdd: enqueue, onUpdate: (_, ns) => enqueue(ns) })
    accounts.addHandler({ onDelete: (account) => this.controller.queue.add(account.metadata.namespace ?? '') })
  }

  run(): Promise<void> {
    return this.controller.run()
  }
}
