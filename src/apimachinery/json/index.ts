/** JSON to canonical objects by schema, as Go decodes it, and back; see body.ts. */
export { canonicalize, type Decoded, type DecodeOptions, decodeJSON, JSONBody, type TypeMeta, typeMetaOf } from './body.ts'
export { zeroStruct } from './compiled.ts'
export { bodySummary, encodeJSON, encodeJSONPretty } from './encode.ts'
export { DecodeError } from './scalars.ts'
export { JSONSyntaxError } from './tree.ts'
