/** What all kinds share: object metadata, Status errors, field errors, schemas. No input or output happens here. */
export * from './errors.ts'
export * as field from './field.ts'
export { type ErrorList, type FieldError, FieldPath } from './field.ts'
export type * as metav1 from './meta/v1/types.generated.ts'
export * from './object.ts'
export { quote } from './quote.ts'
export * from './schema/index.ts'
