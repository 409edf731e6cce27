import type { HorizontalPodAutoscaler, HPAScalingRules } from '../../api/autoscaling/v2/types.generated.ts'

const MAX_KEPT = 1000
const DOWN_WINDOW_S = 300

export interface Limited {
  replicas: number
  /** Reason and message of AbleToScale. */
  able: [string, string]
  /** Status, reason and message of ScalingLimited. */
  limited: ['True' | 'False', string, string]
}

interface Change {
  by: number
  at: number
}

const DEFAULT_UP: HPAScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
}
const DEFAULT_DOWN: HPAScalingRules = {
  stabilizationWindowSeconds: DOWN_WINDOW_S,
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
}

/** What one autoscaler recommended and did lately: it keeps the number from flapping. */
export class ScalingHistory {
  private recommendations: { at: number; replicas: number }[] = []
  private ups: Change[] = []
  private downs: Change[] = []

  /** Steadies the proposal by the windows, then limits how fast it may be reached. */
  limit(hpa: HorizontalPodAutoscaler, current: number, proposed: number, now: number): Limited {
    const min = hpa.spec.minReplicas ?? 1
    const max = hpa.spec.maxReplicas
    if (this.recommendations.length === 0) this.recommendations.push({ at: now, replicas: current })
    const up = { ...DEFAULT_UP, ...hpa.spec.behavior?.scaleUp }
    const down = { ...DEFAULT_DOWN, ...hpa.spec.behavior?.scaleDown }
    const upWindow = (up.stabilizationWindowSeconds ?? 0) * 1000
    const downWindow = (down.stabilizationWindowSeconds ?? DOWN_WINDOW_S) * 1000
    let low = proposed
    let high = proposed
    for (const r of this.recommendations) {
      if (r.at > now - upWindow) low = Math.min(low, r.replicas)
      if (r.at > now - downWindow) high = Math.max(high, r.replicas)
    }
    this.recommendations = [...this.recommendations.filter((r) => r.at > now - Math.max(upWindow, downWindow)), { at: now, replicas: proposed }].slice(
      -MAX_KEPT,
    )
    const steady = Math.min(Math.max(current, low), high)
    const able: [string, string] =
      steady === proposed
        ? ['ReadyForNewScale', 'recommended size matches current size']
        : steady > proposed
          ? ['ScaleDownStabilized', 'recent recommendations were higher than current one, applying the highest recent recommendation']
          : ['ScaleUpStabilized', 'recent recommendations were lower than current one, applying the lowest recent recommendation']
    return { ...this.pace(steady, current, { min, max, up, down, now }), able }
  }

  private pace(
    steady: number,
    current: number,
    { min, max, up, down, now }: { min: number; max: number; up: HPAScalingRules; down: HPAScalingRules; now: number },
  ): { replicas: number; limited: Limited['limited'] } {
    const ok: Limited['limited'] = ['False', 'DesiredWithinRange', 'the desired count is within the acceptable range']
    if (steady > current) {
      const rate = this.bound(up, current, now, 1)
      const top = Math.min(rate, max)
      if (steady <= top) return { replicas: steady, limited: ok }
      const limited: Limited['limited'] =
        rate < max
          ? ['True', 'ScaleUpLimit', 'the desired replica count is increasing faster than the maximum scale rate']
          : ['True', 'TooManyReplicas', 'the desired replica count is more than the maximum replica count']
      return { replicas: Math.max(current, top), limited }
    }
    if (steady < current) {
      const rate = this.bound(down, current, now, -1)
      const bottom = Math.max(rate, min)
      if (steady >= bottom) return { replicas: steady, limited: ok }
      const limited: Limited['limited'] =
        rate > min
          ? ['True', 'ScaleDownLimit', 'the desired replica count is decreasing faster than the maximum scale rate']
          : ['True', 'TooFewReplicas', 'the desired replica count is less than the minimum replica count']
      return { replicas: Math.min(current, bottom), limited }
    }
    return { replicas: steady, limited: ok }
  }

  /** The farthest count the policies allow from where the period began. */
  private bound(rules: HPAScalingRules, current: number, now: number, sign: 1 | -1): number {
    if (rules.selectPolicy === 'Disabled') return current
    const pick = (rules.selectPolicy === 'Min') === (sign === 1) ? Math.min : Math.max
    let result = pick === Math.min ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
    for (const policy of rules.policies ?? []) {
      const since = now - policy.periodSeconds * 1000
      const sum = (list: Change[]) => list.reduce((n, c) => (c.at > since ? n + c.by : n), 0)
      const base = current - sum(this.ups) + sum(this.downs)
      const count =
        policy.type === 'Pods'
          ? base + sign * policy.value
          : sign === 1
            ? Math.ceil(base * (1 + policy.value / 100))
            : Math.trunc(base * (1 - policy.value / 100))
      result = pick(result, count)
    }
    return Number.isFinite(result) ? result : current
  }

  /** Notes a change that was carried out. */
  scaled(from: number, to: number, now: number): void {
    const keep = (list: Change[]) => list.filter((c) => c.at > now - 1_800_000).slice(-MAX_KEPT)
    if (to > from) this.ups = [...keep(this.ups), { by: to - from, at: now }]
    else if (to < from) this.downs = [...keep(this.downs), { by: from - to, at: now }]
  }
}
