import { type ErrorList, FieldPath, invalid } from '../../../apimachinery/field.ts'

export type Level = 'privileged' | 'baseline' | 'restricted'

/** A level as it was defined in one minor version. */
export interface LevelVersion {
  readonly level: Level
  /** Minor version; Infinity for `latest`. */
  readonly minor: number
}

export interface NamespacePolicy {
  readonly enforce: LevelVersion
  readonly audit: LevelVersion
  readonly warn: LevelVersion
}

const LEVELS: readonly Level[] = ['privileged', 'baseline', 'restricted']
const PREFIX = 'pod-security.kubernetes.io/'
const MODES = ['enforce', 'audit', 'warn'] as const
type Labels = Readonly<Record<string, string>> | undefined

export const levelText = ({ level, minor }: LevelVersion): string => `${level}:${minor === Number.POSITIVE_INFINITY ? 'latest' : `v1.${minor}`}`
export const strictness = (level: Level): number => LEVELS.indexOf(level)

/** The policy a namespace's labels ask for; what they leave open is privileged, what they say wrongly is restricted, in the latest version. */
export function policyOf(labels: Labels): NamespacePolicy {
  const read = (mode: (typeof MODES)[number]): LevelVersion => {
    const level = labels?.[PREFIX + mode]
    const version = labels?.[`${PREFIX}${mode}-version`]
    return {
      level: level === undefined ? 'privileged' : isLevel(level) ? level : 'restricted',
      minor: (version === undefined ? undefined : minorOf(version)) ?? Number.POSITIVE_INFINITY,
    }
  }
  return { enforce: read('enforce'), audit: read('audit'), warn: read('warn') }
}

export function policyErrors(labels: Labels): ErrorList {
  const path = FieldPath.root('metadata', 'labels')
  const errors: ErrorList = []
  for (const mode of MODES) {
    const level = labels?.[PREFIX + mode]
    const version = labels?.[`${PREFIX}${mode}-version`]
    if (level !== undefined && !isLevel(level)) errors.push(invalid(path.key(PREFIX + mode), level, `must be one of ${LEVELS.join(', ')}`))
    if (version !== undefined && minorOf(version) === undefined) {
      errors.push(invalid(path.key(`${PREFIX}${mode}-version`), version, 'must be "latest" or "v1.x"'))
    }
  }
  return errors
}

const isLevel = (text: string): text is Level => (LEVELS as readonly string[]).includes(text)

function minorOf(version: string): number | undefined {
  if (version === 'latest') return Number.POSITIVE_INFINITY
  const match = /^v1\.(0|[1-9]\d{0,5})$/.exec(version)
  return match ? Number(match[1]) : undefined
}
