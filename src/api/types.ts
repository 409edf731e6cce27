import { type PackageTable, SchemaRegistry } from '../apimachinery/schema/index.ts'
import { packages } from './packages.generated.ts'

/** All built-in types. The tables are immutable data, parsed per package on first use and shared by every cluster of the process. */
export const builtinTypes: SchemaRegistry = new SchemaRegistry(new Map([...packages].map(([path, text]) => [path, () => JSON.parse(text) as PackageTable])))
