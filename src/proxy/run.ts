import type { Server } from 'node:http'
import type { Client } from '../client/client.ts'
import { SeriesBroadcaster } from '../client/record/series-recorder.ts'
import type { ComponentContext } from '../component-base/component.ts'
import type { ProxyConfig } from './config.ts'
import { createProxyMetrics } from './metrics.ts'
import { type PacketFilter, systemPacketFilter } from './packet-filter.ts'
import { Proxier } from './proxier.ts'
import { deleteTable } from './ruleset.ts'
import { close, healthHandler, listen, metricsHandler, ProxyHealth, ServiceHealth } from './servers.ts'

export interface ProxyOptions {
  client: Client
  config: ProxyConfig
  nodeName: string
  /** @default the machine's own */
  filter?: PacketFilter
}

/** Between two tries to listen on a port that somebody else has. */
const LISTEN_RETRY_MS = 5000

/** The component: keeps the node's tables in step until the context's signal aborts, and tells of its health. The tables stay when it ends. */
export async function runProxy(context: ComponentContext, options: ProxyOptions): Promise<void> {
  const { clock, random, log, signal } = context
  const { client, config, nodeName } = options
  const filter = options.filter ?? systemPacketFilter()
  const metrics = await clock.track(createProxyMetrics())
  const recorder = new SeriesBroadcaster({ client, clock, random, log, signal, controller: 'kube-proxy', hostname: nodeName })
  // As the kubelet refers to it: by name also where a uid is asked for.
  const self = { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeName }
  const health = new ProxyHealth(clock, 2 * config.syncPeriodMs)
  const services = new ServiceHealth(
    log,
    () => health.healthy(),
    (namespace, name, message) =>
      recorder.eventf(
        { apiVersion: 'v1', kind: 'Service', namespace, name, uid: '' },
        undefined,
        'Warning',
        'FailedToStartServiceHealthcheck',
        'Listen',
        message,
      ),
  )
  const servers: Server[] = []
  const serve = async (address: string, handler: Parameters<typeof listen>[1], failed: (message: string) => void) => {
    while (address !== '' && !signal.aborted) {
      try {
        servers.push(await listen(address, handler))
        return
      } catch (e) {
        log.error('cannot listen', { address, err: (e as Error).message })
        failed((e as Error).message)
      }
      await clock.sleep(LISTEN_RETRY_MS, signal).catch(() => {})
    }
  }
  const listening = [
    serve(config.healthzBindAddress, healthHandler(health, metrics), (message) =>
      recorder.eventf(
        self,
        undefined,
        'Warning',
        'FailedToStartProxierHealthcheck',
        'StartKubeProxy',
        `Failed to start proxier healthz on ${config.healthzBindAddress}: ${message}`,
      ),
    ),
    serve(config.metricsBindAddress, metricsHandler(metrics, log), () => {}),
  ]
  recorder.eventf(self, undefined, 'Normal', 'Starting', 'StartKubeProxy', '')
  log.info('Using nftables Proxier', { node: nodeName })
  const proxier = new Proxier(context, {
    client,
    config,
    nodeName,
    filter,
    metrics,
    listener: {
      synced: (at) => health.synced(at),
      pending: (at) => health.pending(at),
      rules(rules, view, addresses) {
        const node = view.node()
        health.nodeEligible = !node?.metadata.deletionTimestamp && !node?.spec?.taints?.some((t) => t.key === 'ToBeDeletedByClusterAutoscaler')
        const ports = new Map<string, number>()
        for (const s of view.services()) {
          const port = s.spec?.healthCheckNodePort
          if (s.spec?.type === 'LoadBalancer' && s.spec.externalTrafficPolicy === 'Local' && port) ports.set(`${s.metadata.namespace}/${s.metadata.name}`, port)
        }
        services.update(ports, rules, addresses)
      },
    },
  })
  try {
    await proxier.run()
  } finally {
    await Promise.all(listening)
    await Promise.all([...servers.map(close), services.close()])
    await recorder.stopped()
  }
}

/** Takes the proxy's tables off this machine, also those that another process left. */
export async function removeProxyTables(filter: PacketFilter = systemPacketFilter()): Promise<void> {
  await filter.apply(deleteTable('IPv4'))
  await filter.apply(deleteTable('IPv6')).catch(() => {})
}
