import type { RequestInfo } from './request-info.ts'

const SUBRESOURCES = new Set(['attach', 'exec', 'proxy', 'log', 'portforward'])

/** Requests that may go on for as long as they like. */
export function isLongRunning(info: RequestInfo): boolean {
  if (!info.isResource) return info.path.startsWith('/debug/pprof/')
  return info.verb === 'watch' || info.verb === 'proxy' || SUBRESOURCES.has(info.subresource)
}
