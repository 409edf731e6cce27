/** API objects' shapes as data; see schema.ts. */
export { SchemaRegistry } from './registry.ts'
export type * from './schema.ts'
