/**
 * YAML as the API server and kubectl read and print it. Reading loads the parser on first use; code that always needs it
 * imports parser.ts and calls without waiting.
 */
import type { ParsedYAML } from './parser.ts'

export type { ParsedYAML } from './parser.ts'
export { compareKeys, printYAML } from './print.ts'

/** The JSON value of the first document and its duplicate keys. Rejects with YAMLError. */
export async function parseYAML(text: string): Promise<ParsedYAML> {
  const { parseDocument } = await import('./parser.ts')
  return parseDocument(text)
}

/** Every document of a stream that is not empty. Rejects with YAMLError. */
export async function parseAllYAML(text: string): Promise<ParsedYAML[]> {
  const { parseDocuments } = await import('./parser.ts')
  return parseDocuments(text)
}
