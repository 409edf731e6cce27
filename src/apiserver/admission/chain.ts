import type { AdmissionAttributes, AdmissionOperation, AdmissionPlugin } from './admission.ts'

const OPERATIONS: readonly AdmissionOperation[] = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT']

/** The admission plugins in their order, sorted by what they handle. */
export class AdmissionChain {
  readonly plugins: readonly AdmissionPlugin[]
  private readonly mutating: Readonly<Record<AdmissionOperation, readonly AdmissionPlugin[]>>
  private readonly validating: Readonly<Record<AdmissionOperation, readonly AdmissionPlugin[]>>

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.plugins = plugins
    const pick = (phase: 'admit' | 'validate') =>
      Object.fromEntries(OPERATIONS.map((op) => [op, plugins.filter((p) => p[phase] && p.handles(op))])) as unknown as Record<
        AdmissionOperation,
        readonly AdmissionPlugin[]
      >
    this.mutating = pick('admit')
    this.validating = pick('validate')
  }

  mutates(operation: AdmissionOperation): boolean {
    return this.mutating[operation].length > 0
  }

  validates(operation: AdmissionOperation): boolean {
    return this.validating[operation].length > 0
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    for (const plugin of this.mutating[attributes.operation]) {
      const pending = plugin.admit?.(attributes)
      if (pending) await pending
    }
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    for (const plugin of this.validating[attributes.operation]) {
      const pending = plugin.validate?.(attributes)
      if (pending) await pending
    }
  }
}
