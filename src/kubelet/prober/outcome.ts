/** `unknown`: the probe itself could not run; such a run counts neither way. */
export interface ProbeOutcome {
  result: 'success' | 'warning' | 'failure' | 'unknown'
  output: string
}
