import type { Handler } from '../request/context.ts'

/** Headers that every answer carries. */
export function withRequestHeaders(next: Handler): Handler {
  return async (context) => {
    const response = await next(context)
    const headers = response.headers
    headers['audit-id'] = context.auditID
    headers['cache-control'] ??= 'no-cache, private'
    const warnings = context.warnings
    if (warnings.length > 0) headers.warning = [...warnings]
    for (const name in context.responseHeaders) headers[name] ??= context.responseHeaders[name] as string
    return response
  }
}
