import { resources } from '../../api/index.ts'
import type { ControlHandler } from '../../cluster/local/control-socket.ts'
import { type DataDir, readState, writeState } from '../../cluster/local/data-dir.ts'
import type { LocalCluster } from '../../cluster/local/local-cluster.ts'
import { version } from '../../component-base/index.ts'
import { k8tsVersion } from './k8ts-version.ts'

export interface ClusterStatus {
  pid: number
  version: string
  k8ts: string
  starting: boolean
  uptimeSeconds: number
  components: { name: string; ready: boolean }[]
  nodes: { name: string; running: boolean; simulated: boolean }[]
  runtime: string
  containerdPid?: number
  endpoints: { apiServer: string; etcd: string }
  dataDir: string
}

export interface ControlContext {
  cluster(): LocalCluster | undefined
  dir: DataDir
  stop(how: { containers: boolean }): Promise<void>
  /** performance.now() of the start. */
  startedAt(): number
}

/** What the running cluster answers on its socket. */
export function controlHandler(context: ControlContext): ControlHandler {
  const { dir } = context
  const cluster = (): LocalCluster => {
    const c = context.cluster()
    if (!c) throw new Error('the cluster is starting: try again in a moment')
    return c
  }
  return async (method, path, body) => {
    const name = (body as { name?: string } | undefined)?.name ?? ''
    switch (`${method} ${path}`) {
      case 'GET /ping':
        return {}
      case 'GET /status':
        return status(context)
      case 'POST /stop':
        // The answer goes out before the socket does.
        setImmediate(() => void context.stop({ containers: (body as { containers?: boolean } | undefined)?.containers ?? true }))
        return { pid: process.pid }
      case 'POST /node/add': {
        const state = await readState(dir)
        if (!state) throw new Error('no cluster')
        if (!/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name)) throw new Error(`a node's name must be a DNS name in lower case, not ${JSON.stringify(name)}`)
        if (name === state.nodeName || state.simulatedNodes.includes(name)) throw new Error(`node ${name} is there already`)
        cluster().nodes.startSimulated(name, state.simulatedNodes.length)
        state.simulatedNodes.push(name)
        await writeState(dir, state)
        return {}
      }
      case 'POST /node/stop':
        await simulated(dir, name)
        await cluster().nodes.stopNode(name)
        return {}
      case 'POST /node/start': {
        const index = await simulated(dir, name)
        cluster().nodes.startSimulated(name, index)
        return {}
      }
      case 'POST /node/delete': {
        await simulated(dir, name)
        const { nodes } = cluster()
        if (nodes.kubelet(name)) await nodes.stopNode(name)
        nodes.forget(name)
        await cluster().adminClient().resource(resources.corev1.nodes).delete(name)
        const state = await readState(dir)
        if (state) {
          state.simulatedNodes = state.simulatedNodes.filter((n) => n !== name)
          await writeState(dir, state)
        }
        return {}
      }
      default:
        throw new Error(`no such call: ${method} ${path}`)
    }
  }
}

async function simulated(dir: DataDir, name: string): Promise<number> {
  const state = await readState(dir)
  const index = state?.simulatedNodes.indexOf(name) ?? -1
  if (index < 0)
    throw new Error(
      state?.nodeName === name
        ? `${name} is the node of the control plane: only simulated nodes can be stopped and deleted`
        : `there is no simulated node ${name}`,
    )
  return index
}

async function status(context: ControlContext): Promise<ClusterStatus> {
  const state = await readState(context.dir)
  const cluster = context.cluster()
  const components: ClusterStatus['components'] = []
  if (cluster && state) {
    const pods = cluster.adminClient().resource(resources.corev1.pods).namespace('kube-system')
    const list = await pods.list({ labelSelector: 'tier=control-plane' }).catch(() => undefined)
    for (const pod of list?.items ?? []) {
      components.push({
        name: pod.metadata.labels?.component ?? '',
        ready: pod.status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false,
      })
    }
  }
  const pid = cluster?.containerdPid
  return {
    pid: process.pid,
    version: version.gitVersion,
    k8ts: k8tsVersion,
    starting: cluster === undefined,
    uptimeSeconds: Math.round((performance.now() - context.startedAt()) / 1000),
    components,
    nodes: cluster?.nodes.names() ?? [],
    runtime: state?.runtime === 'cri' ? 'containers' : 'simulated',
    ...(pid ? { containerdPid: pid } : {}),
    endpoints: { apiServer: `https://${state?.bindAddress}:${state?.securePort}`, etcd: `https://127.0.0.1:${state?.etcdPort}` },
    dataDir: context.dir.root,
  }
}
