/** Command-line flags by the rules that Kubernetes' own commands follow. */
export { type FlagSpec, type FlagSpecs, flagsUsage, type ParsedFlags, type ParseOptions, parseFlags, UsageError } from './flag-set.ts'
export { suggest } from './suggest.ts'
