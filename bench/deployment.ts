import { pause, type Started } from './cluster.ts'
import { HttpClient } from './http-client.ts'

const REPLICAS = 3
const DEADLINE_MS = 60_000

const deployment = (name: string, image: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas: REPLICAS,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'web', image }], terminationGracePeriodSeconds: 0 } },
  },
})

/**
 * From the request that applies a Deployment (server-side, as `kubectl apply --server-side`) until a watch has told of its three Pods Running,
 * in ms; the Deployment is deleted afterwards.
 */
export async function applied(cluster: Started, name: string, image = 'nginx'): Promise<number> {
  const [client, watcher] = await Promise.all([HttpClient.open(cluster.connection), HttpClient.open(cluster.connection)])
  try {
    const all = running(watcher, name)
    const path = `/apis/apps/v1/namespaces/default/deployments/${name}`
    const begin = performance.now()
    const { status, body } = await client.request(
      'PATCH',
      `${path}?fieldManager=bench&force=true`,
      JSON.stringify(deployment(name, image)),
      'application/apply-patch+yaml',
    )
    if (status !== 201) throw new Error(`deployment: ${status} ${body}`)
    const end = await Promise.race([
      all,
      pause(DEADLINE_MS).then(() => {
        throw new Error(`not ${REPLICAS} Pods Running within ${DEADLINE_MS / 1000} s`)
      }),
    ])
    await client.request('DELETE', path)
    return end - begin
  } finally {
    client.close()
    watcher.close()
  }
}

/** Resolves with the time at which the last of a Deployment's Pods was seen Running. */
function running(watcher: HttpClient, name: string): Promise<number> {
  const seen = new Set<string>()
  let text = ''
  return new Promise((resolve) => {
    watcher.stream(`/api/v1/namespaces/default/pods?watch=true&labelSelector=app%3D${name}`, (chunk) => {
      text += chunk.toString()
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) {
        if (!line.startsWith('{"type":')) continue
        const { object } = JSON.parse(line) as { object: { metadata: { name: string }; status?: { phase?: string } } }
        if (object.status?.phase === 'Running') seen.add(object.metadata.name)
      }
      if (seen.size === REPLICAS) resolve(performance.now())
    })
  })
}
