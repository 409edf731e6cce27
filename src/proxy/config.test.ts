import { describe, expect, it } from 'vitest'
import { cidrHas, isCIDR } from './address.ts'
import { parseProxyConfig } from './config.ts'

describe('a KubeProxyConfiguration', () => {
  it('has upstream`s defaults', () => {
    expect(parseProxyConfig('apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n')).toEqual({
      bindAddress: '0.0.0.0',
      clusterCIDRs: [],
      kubeconfig: '',
      hostnameOverride: '',
      healthzBindAddress: '0.0.0.0:10256',
      metricsBindAddress: '127.0.0.1:10249',
      nodePortAddresses: [],
      masqueradeAll: false,
      masqueradeBit: 14,
      syncPeriodMs: 30_000,
      minSyncPeriodMs: 1000,
      detectLocalMode: 'ClusterCIDR',
      bridgeInterface: '',
      interfaceNamePrefix: '',
    })
  })

  it('is taken as it is written', () => {
    const warnings: string[] = []
    const text = `
clusterCIDR: 10.244.0.0/16,fd00::/48
clientConnection: {kubeconfig: /k}
mode: nftables
healthzBindAddress: 10.0.0.1
metricsBindAddress: '[::1]:99'
nodePortAddresses: [192.168.0.0/16]
nftables: {masqueradeBit: 3, masqueradeAll: true, syncPeriod: 1m, minSyncPeriod: 2s}
detectLocalMode: InterfaceNamePrefix
detectLocal: {interfaceNamePrefix: veth}
nothing: 1`
    expect(parseProxyConfig(text, (w) => warnings.push(w))).toMatchObject({
      clusterCIDRs: ['10.244.0.0/16', 'fd00::/48'],
      kubeconfig: '/k',
      healthzBindAddress: '10.0.0.1:10256',
      metricsBindAddress: '[::1]:99',
      nodePortAddresses: ['192.168.0.0/16'],
      masqueradeAll: true,
      masqueradeBit: 3,
      syncPeriodMs: 60_000,
      minSyncPeriodMs: 2000,
      interfaceNamePrefix: 'veth',
    })
    expect(warnings).toEqual(['unknown field "nothing"'])
  })

  it.each([
    ['mode: ipvs', /this kube-proxy has one mode: nftables/],
    ['mode: x', /must be iptables, ipvs, nftables or blank/],
    ['clusterCIDR: 10.0.0.0', /ClusterCIDR: Invalid value: "10.0.0.0": must be a valid CIDR/],
    ['detectLocalMode: BridgeInterface', /DetectLocal.bridgeInterface/],
    ["detectLocalMode: BridgeInterface\ndetectLocal: {bridgeInterface: 'a\" accept'}", /DetectLocal.bridgeInterface/],
    ['nodePortAddresses: [primary, 10.0.0.0/8]', /can't use both/],
    ['nftables: {masqueradeBit: 32}', /within the range \[0, 31\]/],
    ['nftables: {syncPeriod: -1s}', /must be greater than 0/],
    ['apiVersion: v1\nkind: Pod', /no kind "Pod" is registered for version "v1"/],
  ])('refuses %j', (text, why) => {
    expect(() => parseProxyConfig(text)).toThrow(why)
  })
})

describe('addresses', () => {
  it('are found in their ranges', () => {
    expect(cidrHas('10.96.0.0/12', '10.111.255.255')).toBe(true)
    expect(cidrHas('10.96.0.0/12', '10.112.0.0')).toBe(false)
    expect(cidrHas('0.0.0.0/0', '1.2.3.4')).toBe(true)
    expect(cidrHas('fd00::/8', 'fd12:3::1')).toBe(true)
    expect(cidrHas('::ffff:10.0.0.0/104', '::ffff:10.1.2.3')).toBe(true)
    expect(cidrHas('fd00::/8', '10.0.0.1')).toBe(false)
    expect(isCIDR('10.0.0.0/33', 'IPv4')).toBe(false)
    expect(isCIDR('10.0.0.0/8 drop', 'IPv4')).toBe(false)
    expect(isCIDR('fd00::/128', 'IPv6')).toBe(true)
  })
})
