import type { AdmissionAttributes, AdmissionOperation, AdmissionPlugin } from './admission.ts'

const OPERATIONS: readonly AdmissionOperation[] = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT']

type Phase = 'admit' | 'validate'

const MAX_REMEMBERED = 5000

/** The admission plugins in their order, sorted by what they handle. */
export class AdmissionChain {
  private readonly narrowed = new Map<string, readonly AdmissionPlugin[]>()
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

  /** Waits only for plugins that have to wait. */
  admit(attributes: AdmissionAttributes): Promise<void> | undefined {
    return run(this.lookingAt('admit', this.mutating, attributes), 'admit', attributes, 0)
  }

  validate(attributes: AdmissionAttributes): Promise<void> | undefined {
    return run(this.lookingAt('validate', this.validating, attributes), 'validate', attributes, 0)
  }

  private lookingAt(
    phase: Phase,
    all: Readonly<Record<AdmissionOperation, readonly AdmissionPlugin[]>>,
    { operation, resource }: AdmissionAttributes,
  ): readonly AdmissionPlugin[] {
    const key = `${phase} ${operation} ${resource.resource}.${resource.version}.${resource.group}`
    let found = this.narrowed.get(key)
    if (!found) {
      found = all[operation].filter((p) => p.looksAt?.(resource) ?? true)
      // As many as there are resources, and custom ones come and go.
      if (this.narrowed.size >= MAX_REMEMBERED) this.narrowed.clear()
      this.narrowed.set(key, found)
    }
    return found
  }
}

function run(plugins: readonly AdmissionPlugin[], phase: Phase, attributes: AdmissionAttributes, from: number): Promise<void> | undefined {
  for (let i = from; i < plugins.length; i++) {
    const pending = (plugins[i] as AdmissionPlugin)[phase]?.(attributes)
    if (pending) return pending.then(() => run(plugins, phase, attributes, i + 1))
  }
  return undefined
}
