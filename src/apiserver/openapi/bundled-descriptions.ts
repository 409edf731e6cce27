import { readFile } from 'node:fs/promises'
import type { Descriptions } from './definitions.ts'

const API_VERSION =
  'APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources'
const KIND =
  'Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds'

/** Where the build puts the table: beside the bundle, beside its chunks' folder, or in dist/ seen from the source. */
const PLACES = ['./descriptions.json', '../descriptions.json', '../../../dist/descriptions.json']

/** The descriptions that were packed with the program; undefined when there are none. */
export async function bundledDescriptions(): Promise<Descriptions | undefined> {
  for (const place of PLACES) {
    let text: string
    try {
      text = await readFile(new URL(place, import.meta.url), 'utf8')
    } catch {
      continue
    }
    const { types } = JSON.parse(text) as { types: Record<string, Record<string, string>> }
    const tables = new Map(Object.entries(types).map(([name, fields]) => [name, new Map(Object.entries(fields))]))
    return (typeName, field) => tables.get(typeName)?.get(field ?? '') ?? (field === 'apiVersion' ? API_VERSION : field === 'kind' ? KIND : undefined)
  }
  return undefined
}
