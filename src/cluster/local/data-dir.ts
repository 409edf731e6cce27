import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

/** Where things are in a cluster's folder. */
export interface DataDir {
  readonly root: string
  readonly manifests: string
  readonly pki: string
  readonly etcd: string
  /** The kubelet's folder: Pods' volumes. */
  readonly kubelet: string
  readonly logs: string
  readonly containerd: string
  /** The admin's kubeconfig. */
  readonly kubeconfig: string
  readonly socket: string
  readonly log: string
  readonly state: string
}

export function dataDir(root: string): DataDir {
  const at = (name: string) => join(resolve(root), name)
  return {
    root: resolve(root),
    manifests: at('manifests'),
    pki: at('pki'),
    etcd: at('etcd'),
    kubelet: at('kubelet'),
    logs: at('logs'),
    containerd: at('cd'),
    kubeconfig: at('kubeconfig'),
    socket: at('k8ts.sock'),
    log: at('k8ts.log'),
    state: at('state.json'),
  }
}

/** What a start of the cluster remembers for the next. */
export interface ClusterState {
  /** Of this record. */
  formatVersion: 1
  k8tsVersion: string
  nodeName: string
  runtime: 'cri' | 'simulated'
  securePort: number
  etcdPort: number
  bindAddress: string
  /** Names of simulated nodes beside the first. */
  simulatedNodes: string[]
}

/** Undefined when there is no cluster in the folder. @throws Error that says what is wrong with the record */
export async function readState(dir: DataDir): Promise<ClusterState | undefined> {
  let text: string
  try {
    text = await readFile(dir.state, 'utf8')
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw e
  }
  let state: ClusterState
  try {
    state = JSON.parse(text)
  } catch {
    throw new Error(`${dir.state} is damaged (no JSON). Put back a copy of it, or remove the cluster with: k8ts reset --yes --data-dir ${dir.root}`)
  }
  if (state.formatVersion !== 1) throw new Error(`${dir.state} was written by a newer k8ts (format ${state.formatVersion}): use that version`)
  return state
}

export async function writeState(dir: DataDir, state: ClusterState): Promise<void> {
  await replaceFile(dir.state, `${JSON.stringify(state, null, 2)}\n`)
}

/** Makes the folder and those in it, for the owner alone. */
export async function prepareDataDir(dir: DataDir): Promise<void> {
  await mkdir(dir.root, { recursive: true, mode: 0o700 })
  await chmod(dir.root, 0o700)
  for (const d of [dir.manifests, dir.pki, dir.etcd, dir.kubelet, dir.logs]) await mkdir(d, { recursive: true, mode: 0o700 })
}

/** Afterwards the whole text is there, or what was before; readable by the owner alone. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`
  await writeFile(temporary, text, { mode: 0o600 })
  await rename(temporary, path)
}
