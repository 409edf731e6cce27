import type { Taint, Toleration } from '../api/core/v1/types.generated.ts'

export interface TolerationOptions {
  /** Operators `Gt` and `Lt` count (gate TaintTolerationComparisonOperators). @default false */
  comparisonOperators?: boolean
}

/** Whether the toleration lets a Pod live with the taint (KEP-free rules of core/v1: empty key and `Exists` match all). */
export function toleratesTaint(toleration: Toleration, taint: Taint, options: TolerationOptions = {}): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false
  if (toleration.key && toleration.key !== taint.key) return false
  switch (toleration.operator || 'Equal') {
    case 'Exists':
      return true
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '')
    case 'Gt':
    case 'Lt':
      return options.comparisonOperators === true && compares(toleration, taint)
    default:
      return false
  }
}

function compares(toleration: Toleration, taint: Taint): boolean {
  const mine = parseInteger(toleration.value ?? '')
  const theirs = parseInteger(taint.value ?? '')
  if (mine === undefined || theirs === undefined) return false
  return toleration.operator === 'Gt' ? theirs > mine : theirs < mine
}

/** Decimal int64 in its canonical form. */
function parseInteger(text: string): bigint | undefined {
  return /^(0|-?[1-9][0-9]{0,18})$/.test(text) ? BigInt(text) : undefined
}

export function toleratesAny(tolerations: readonly Toleration[] | undefined, taint: Taint, options?: TolerationOptions): boolean {
  return tolerations?.some((t) => toleratesTaint(t, taint, options)) ?? false
}

/** The first taint (of those the filter keeps) that no toleration covers; undefined when all are tolerated. */
export function findUntoleratedTaint(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  filter: (taint: Taint) => boolean = () => true,
  options?: TolerationOptions,
): Taint | undefined {
  return taints?.find((taint) => filter(taint) && !toleratesAny(tolerations, taint, options))
}

/** Taints that keep new Pods away. */
export const doNotScheduleTaint = (taint: Taint): boolean => taint.effect === 'NoSchedule' || taint.effect === 'NoExecute'

/** The NoExecute taints and, when every one is tolerated, the tolerations used for them (one per taint, first match). */
export function matchingTolerations(taints: readonly Taint[], tolerations: readonly Toleration[] | undefined): { all: boolean; used: Toleration[] } {
  const used: Toleration[] = []
  for (const taint of taints) {
    const match = tolerations?.find((t) => toleratesTaint(t, taint))
    if (!match) return { all: false, used: [] }
    used.push(match)
  }
  return { all: true, used }
}

/** Seconds a Pod may stay given the tolerations that cover its node's taints: the least; undefined is forever. */
export function minTolerationSeconds(used: readonly Toleration[]): number | undefined {
  let least: number | undefined
  for (const t of used) {
    if (t.tolerationSeconds === undefined || t.tolerationSeconds === null) continue
    const seconds = Math.max(0, t.tolerationSeconds)
    if (least === undefined || seconds < least) least = seconds
  }
  return least
}

/** Same key and effect: the identity of a taint on its node. */
export const sameTaint = (a: Taint, b: Taint): boolean => a.key === b.key && a.effect === b.effect

export function taintExists(taints: readonly Taint[] | undefined, taint: Taint): boolean {
  return taints?.some((t) => sameTaint(t, taint)) ?? false
}

/** Taints to add and to remove to get from `current` to `wanted`. */
export function taintDifference(wanted: readonly Taint[], current: readonly Taint[]): { add: Taint[]; remove: Taint[] } {
  return { add: wanted.filter((t) => !taintExists(current, t)), remove: current.filter((t) => !taintExists(wanted, t)) }
}

/** `key=value:Effect`, `key:Effect`. */
export function taintText(taint: Taint): string {
  const head = taint.value ? `${taint.key}=${taint.value}` : taint.key
  return taint.effect ? `${head}:${taint.effect}` : head
}

/** Same in all but tolerationSeconds. */
export const sameToleration = (a: Toleration, b: Toleration): boolean =>
  (a.key ?? '') === (b.key ?? '') && (a.effect ?? '') === (b.effect ?? '') && (a.operator ?? '') === (b.operator ?? '') && (a.value ?? '') === (b.value ?? '')

/** Adds a toleration or replaces the one it differs from in seconds alone; true when the list changed. */
export function addOrUpdateToleration(tolerations: Toleration[], toleration: Toleration): boolean {
  const i = tolerations.findIndex((t) => sameToleration(t, toleration))
  if (i < 0) {
    tolerations.push(toleration)
    return true
  }
  if ((tolerations[i] as Toleration).tolerationSeconds === toleration.tolerationSeconds) return false
  tolerations[i] = toleration
  return true
}
