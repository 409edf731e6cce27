import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

interface Named {
  name: string
}

interface Config {
  apiVersion?: string
  kind?: string
  clusters?: Named[]
  contexts?: Named[]
  users?: Named[]
  'current-context'?: string
  preferences?: object
}

const NAME = 'k8ts'

/** Puts the cluster into the user's kubeconfig as context, cluster and user `k8ts`, and makes it current. @returns the file */
export async function mergeKubeconfig(from: string, env: Record<string, string | undefined>): Promise<string> {
  const { load, dump } = await import('js-yaml')
  const own = load(await readFile(from, 'utf8')) as { clusters: { cluster: object }[]; users: { user: object }[] }
  const path = env.KUBECONFIG?.split(delimiter).find((p) => p !== '') ?? join(homedir(), '.kube/config')
  const text = await readFile(path, 'utf8').catch((e: NodeJS.ErrnoException) => {
    if (e.code === 'ENOENT') return ''
    throw e
  })
  const config = ((text === '' ? undefined : load(text)) ?? {}) as Config
  const put = (list: Named[] | undefined, entry: Named) => [...(list ?? []).filter((e) => e.name !== entry.name), entry]
  const merged: Config = {
    ...config,
    apiVersion: 'v1',
    kind: 'Config',
    clusters: put(config.clusters, { name: NAME, cluster: own.clusters[0]?.cluster } as Named),
    contexts: put(config.contexts, { name: NAME, context: { cluster: NAME, user: NAME } } as Named),
    users: put(config.users, { name: NAME, user: own.users[0]?.user } as Named),
    'current-context': NAME,
  }
  await mkdir(dirname(path), { recursive: true })
  await writeFile(`${path}.k8ts-tmp`, dump(merged), { mode: 0o600 })
  await rename(`${path}.k8ts-tmp`, path)
  return path
}
