/** A named check; throwing means unhealthy. */
export interface HealthCheck {
  readonly name: string
  check(): void | Promise<void>
}

export interface HealthAnswer {
  status: number
  body: string
}

/**
 * Answers `/healthz`, `/livez` and `/readyz`: `ok`, or with `verbose` (or when something fails) one line per check. Reasons of
 * failures are withheld from the answer.
 */
export class HealthChecks {
  private readonly checks: HealthCheck[] = []
  private readonly title: string

  /** @param title `healthz`, `livez` or `readyz` */
  constructor(title: string, checks: readonly HealthCheck[] = []) {
    this.title = title
    this.checks.push(...checks)
  }

  add(check: HealthCheck): void {
    this.checks.push(check)
  }

  names(): string[] {
    return this.checks.map((c) => c.name)
  }

  /** @param options `only` runs one check, by name: undefined when there is none of that name */
  async answer(options: { verbose?: boolean; exclude?: readonly string[]; only?: string } = {}): Promise<HealthAnswer | undefined> {
    const { verbose = false, exclude = [], only } = options
    const wanted = only === undefined ? this.checks : this.checks.filter((c) => c.name === only)
    if (only !== undefined && wanted.length === 0) return undefined
    const unknown = new Set(exclude)
    const lines: string[] = []
    let failed = false
    for (const check of wanted) {
      if (unknown.delete(check.name) || exclude.includes(check.name)) {
        lines.push(`[+]${check.name} excluded: ok`)
        continue
      }
      try {
        await check.check()
        lines.push(`[+]${check.name} ok`)
      } catch {
        failed = true
        lines.push(`[-]${check.name} failed: reason withheld`)
      }
    }
    if (unknown.size > 0) lines.push(`warn: some health checks cannot be excluded: no matches for ${[...unknown].map((n) => JSON.stringify(n)).join(',')}`)
    if (failed) return { status: 500, body: `${lines.join('\n')}\n${this.title} check failed\n` }
    return { status: 200, body: verbose ? `${lines.join('\n')}\n${this.title} check passed\n` : 'ok' }
  }
}
