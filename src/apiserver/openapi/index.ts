/** OpenAPI 2 and 3 documents of what is served; see documents.ts. */
export { bundledDescriptions } from './bundled-descriptions.ts'
export { type Descriptions, definitionName, type JSONObject } from './definitions.ts'
export { hashOf, type OpenAPIConfig, type OpenAPIDocument, OpenAPIDocuments } from './documents.ts'
export type { ExtraSwagger } from './v2.ts'
