/**
 * The kinds of Kubernetes as data: types, schema tables and the table of served resources, all generated from facts/.
 * `corev1.Pod` is a type, `resources.corev1.pods` a typed handle, `builtinTypes` the schemas.
 */
export type * from './groups.generated.ts'
export { resources } from './handles.generated.ts'
export * from './scheme.ts'
export { builtinTypes } from './types.ts'
