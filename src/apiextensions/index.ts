/**
 * Custom resources: kinds that users define, served like the built-in ones. `definitionKind` is how definitions themselves
 * are written; `CustomResources` follows them and serves what they define.
 */
export type { RuleValidator } from './custom-kind.ts'
export { CustomResources, type CustomResourcesOptions } from './custom-resources.ts'
export { definitionKind } from './definition-strategy.ts'
