import { type apiregistrationv1, resources } from '../../api/index.ts'
import type { Scheme } from '../../api/scheme.ts'
import { isAlreadyExists } from '../../apimachinery/errors.ts'
import type { Client } from '../../client/client.ts'

/** Says that the server itself keeps the object: since its start, or as long as a custom resource is served. */
export const AUTOMANAGED = 'kube-aggregator.kubernetes.io/automanaged'

/**
 * One APIService for each built-in group version that is served; what is there already stays.
 * @param served apiVersions such as `v1` and `apps/v1`
 */
export async function ensureLocalServices(client: Client, scheme: Scheme, served: ReadonlySet<string>): Promise<void> {
  const apiServices = client.resource(resources.apiregistrationv1.apiservices)
  const known = new Set((await apiServices.list()).items.map((s) => s.metadata.name))
  const missing: apiregistrationv1.APIService[] = []
  for (const { group, groupPriority, versions } of scheme.groups) {
    // The group of APIServices is the aggregator's own: it has none.
    if (group === 'apiregistration.k8s.io') continue
    for (const { version, priority } of versions) {
      const name = `${version}.${group}`
      if (known.has(name) || !served.has(group === '' ? version : `${group}/${version}`)) continue
      missing.push({
        metadata: { name, labels: { [AUTOMANAGED]: 'onstart' } },
        spec: { ...(group === '' ? {} : { group }), version, groupPriorityMinimum: groupPriority, versionPriority: priority },
      } as unknown as apiregistrationv1.APIService)
    }
  }
  await Promise.all(
    missing.map((service) =>
      apiServices.create(service).catch((error) => {
        if (!isAlreadyExists(error)) throw error
      }),
    ),
  )
}
