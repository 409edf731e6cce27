import type { GroupVersionResource } from '../../apimachinery/object.ts'
import type { AdmissionAttributes, AdmissionOperation, AdmissionPlugin } from './admission.ts'

const OPERATIONS: readonly AdmissionOperation[] = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT']

type Phase = 'admit' | 'validate'
type ByOperation = Record<AdmissionOperation, readonly AdmissionPlugin[]>

/** The plugins of one phase. */
class PhasePlugins {
  private readonly all: Readonly<ByOperation>
  /** Those that look at a resource, by the object that callers name it with. */
  private readonly narrowed = new WeakMap<GroupVersionResource, Partial<ByOperation>>()

  constructor(plugins: readonly AdmissionPlugin[], phase: Phase) {
    this.all = Object.fromEntries(OPERATIONS.map((op) => [op, plugins.filter((p) => p[phase] && p.handles(op))])) as unknown as ByOperation
  }

  handles(operation: AdmissionOperation): boolean {
    return this.all[operation].length > 0
  }

  lookingAt({ operation, resource }: AdmissionAttributes): readonly AdmissionPlugin[] {
    let found = this.narrowed.get(resource)
    if (!found) {
      found = {}
      this.narrowed.set(resource, found)
    }
    found[operation] ??= this.all[operation].filter((p) => p.looksAt?.(resource) ?? true)
    return found[operation]
  }
}

/** The admission plugins in their order, sorted by what they handle. */
export class AdmissionChain {
  readonly plugins: readonly AdmissionPlugin[]
  private readonly mutating: PhasePlugins
  private readonly validating: PhasePlugins

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.plugins = plugins
    this.mutating = new PhasePlugins(plugins, 'admit')
    this.validating = new PhasePlugins(plugins, 'validate')
  }

  mutates(operation: AdmissionOperation): boolean {
    return this.mutating.handles(operation)
  }

  validates(operation: AdmissionOperation): boolean {
    return this.validating.handles(operation)
  }

  /** Waits only for plugins that have to wait. */
  admit(attributes: AdmissionAttributes): Promise<void> | undefined {
    return run(this.mutating.lookingAt(attributes), 'admit', attributes, 0)
  }

  validate(attributes: AdmissionAttributes): Promise<void> | undefined {
    return run(this.validating.lookingAt(attributes), 'validate', attributes, 0)
  }
}

function run(plugins: readonly AdmissionPlugin[], phase: Phase, attributes: AdmissionAttributes, from: number): Promise<void> | undefined {
  for (let i = from; i < plugins.length; i++) {
    const pending = (plugins[i] as AdmissionPlugin)[phase]?.(attributes)
    if (pending) return pending.then(() => run(plugins, phase, attributes, i + 1))
  }
  return undefined
}
