import { featureGateTable } from './gates.generated.ts'

export type FeatureStage = 'Alpha' | 'Beta' | 'GA' | 'Deprecated'

export interface FeatureSpec {
  stage: FeatureStage
  default: boolean
  /** Cannot be set to another value. */
  locked: boolean
}

/** The features of one process; read-only once made. */
export interface FeatureGates {
  /** Throws on a name nobody knows: a typo in our sources. */
  enabled(name: string): boolean
  known(): ReadonlyMap<string, FeatureSpec>
}

export class FeatureGateError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'FeatureGateError'
  }
}

function knownGates(): Map<string, FeatureSpec> {
  const table = JSON.parse(featureGateTable) as { gates: Record<string, FeatureSpec>; alphaOff: Record<string, Partial<FeatureSpec>> }
  const known = new Map<string, FeatureSpec>()
  for (const [name, { stage, default: on, locked }] of Object.entries(table.gates)) known.set(name, { stage, default: on, locked })
  for (const name of Object.keys(table.alphaOff)) known.set(name, { stage: 'Alpha', default: false, locked: false })
  return known
}

/**
 * Gates with settings such as `{ AllAlpha: true, JobManagedBy: false }`. Single gates win over AllAlpha and AllBeta. Throws
 * FeatureGateError on unknown names and on gates that are locked to the other value.
 */
export function createFeatureGates(settings: Readonly<Record<string, boolean>> = {}): FeatureGates {
  const known = knownGates()
  const values = new Map<string, boolean>()
  for (const [name, spec] of known) {
    values.set(name, spec.default)
    if (spec.locked) continue
    if (spec.stage === 'Alpha' && settings['AllAlpha'] !== undefined) values.set(name, settings['AllAlpha'])
    if (spec.stage === 'Beta' && settings['AllBeta'] !== undefined) values.set(name, settings['AllBeta'])
  }
  for (const [name, value] of Object.entries(settings)) {
    if (name === 'AllAlpha' || name === 'AllBeta') continue
    const spec = known.get(name)
    if (!spec) throw new FeatureGateError(`unrecognized feature gate: ${name}`)
    if (spec.locked && value !== spec.default) throw new FeatureGateError(`cannot set feature gate ${name} to ${value}, feature is locked to ${spec.default}`)
    values.set(name, value)
  }
  return {
    enabled(name) {
      const value = values.get(name)
      if (value === undefined) throw new FeatureGateError(`feature "${name}" is not registered in FeatureGates`)
      return value
    },
    known: () => known,
  }
}

/** Parses `--feature-gates=A=true,B=false`. Throws FeatureGateError. */
export function parseFeatureGates(text: string): Record<string, boolean> {
  const out: Record<string, boolean> = {}
  for (const pair of text.split(',').map((s) => s.trim())) {
    if (pair === '') continue
    const [name = '', value] = pair.split('=', 2).map((s) => s.trim())
    if (value === undefined) throw new FeatureGateError(`missing bool value for ${name}`)
    if (/^(1|t|T|TRUE|true|True)$/.test(value)) out[name] = true
    else if (/^(0|f|F|FALSE|false|False)$/.test(value)) out[name] = false
    else throw new FeatureGateError(`invalid value of ${name}: ${value}, err: strconv.ParseBool: parsing "${value}": invalid syntax`)
  }
  return out
}
