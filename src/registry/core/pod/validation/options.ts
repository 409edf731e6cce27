/** What varies in the rules for Pods and templates. */
export interface PodValidationOptions {
  /** The spec is that of a Pod; some rules were never put on templates. */
  readonly isPod: boolean
  /** Update of an object whose old state breaks a newer rule: the rule is not put on it. */
  readonly allowInvalidLabelValues?: boolean
  isFeatureEnabled(gate: string): boolean
}
