import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../base/index.ts'
import { silentLogger } from '../component-base/index.ts'
import { createProxyMetrics } from './metrics.ts'
import { close, healthHandler, listen, metricsHandler, ProxyHealth } from './servers.ts'

const ask = (port: number, path: string) =>
  new Promise<{ status: number; body: string }>((resolve, reject) => {
    get({ port, host: '127.0.0.1', path, agent: false }, (res) => {
      let body = ''
      res.on('data', (d) => (body += d))
      res.on('end', () => resolve({ status: res.statusCode ?? 0, body }))
    }).on('error', reject)
  })

describe('the proxy`s health', () => {
  it('is bad before the first sync, while a change waits for too long, and for load balancers when the node goes', async () => {
    const clock = new VirtualClock()
    const health = new ProxyHealth(clock, 60_000)
    const metrics = await createProxyMetrics()
    const server = await listen('127.0.0.1:0', healthHandler(health, metrics))
    const { port } = server.address() as AddressInfo
    const statuses = async () => [(await ask(port, '/healthz')).status, (await ask(port, '/livez')).status]
    expect(await statuses()).toEqual([503, 503])
    health.synced(clock.now())
    expect(await statuses()).toEqual([200, 200])
    health.pending(clock.now())
    await clock.advance(61_000)
    expect(await statuses()).toEqual([503, 503])
    health.synced(clock.now())
    health.nodeEligible = false
    expect(await statuses()).toEqual([503, 200])
    expect(JSON.parse((await ask(port, '/healthz')).body)).toEqual({
      lastUpdated: expect.stringMatching(/Z$/),
      currentTime: expect.stringMatching(/Z$/),
      nodeEligible: false,
    })
    expect((await ask(port, '/other')).status).toBe(404)
    await close(server)
    expect(await metrics.expose()).toContain('kubeproxy_proxy_healthz_total{code="503"} 4')
  })

  it('and its metrics are told', async () => {
    const server = await listen('127.0.0.1:0', metricsHandler(await createProxyMetrics(), silentLogger()))
    const { port } = server.address() as AddressInfo
    expect(await ask(port, '/proxyMode')).toEqual({ status: 200, body: 'nftables' })
    expect(await ask(port, '/healthz')).toEqual({ status: 200, body: 'ok' })
    expect((await ask(port, '/metrics')).body).toContain('# HELP kubeproxy_sync_proxy_rules_duration_seconds [ALPHA] SyncProxyRules latency in seconds')
    await close(server)
  })
})
