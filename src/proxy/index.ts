/**
 * The service proxy: makes the addresses of Services lead to their endpoints, by rules of nftables in the tables `ip kube-proxy` and
 * `ip6 kube-proxy`. The pure part reads Services, EndpointSlices and the node and says what a table shall hold (`service-rules.ts`,
 * `node-facts.ts`), what leads there from what it holds (`ruleset.ts`), and which UDP flows are stale (`stale-flows.ts`); the thin part
 * runs `nft` and `conntrack` (`packet-filter.ts`). A sync computes only Services that changed and sends only what differs, in one
 * transaction; after a failure the whole table is written.
 */
export { type ProxyConfig, ProxyConfigError, parseProxyConfig, withPort } from './config.ts'
export { type PacketFilter, systemPacketFilter } from './packet-filter.ts'
export { type ProxyOptions, removeProxyTables, runProxy } from './run.ts'
