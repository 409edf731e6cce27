import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Facts } from './tables.ts'

/** The served resources and their printed columns, as data. */
export function resourcesModule(dir: string): string {
  const read = (f: string) => JSON.parse(readFileSync(join(dir, f), 'utf8'))
  const discovery = read('discovery.json')
  const columns = read('columns.json')
  const strip = (o: Record<string, unknown>) => Object.fromEntries(Object.entries(o).filter(([k]) => !k.startsWith('_')))
  return `
/** Groups, versions and resources in discovery order: JSON text of facts/surface/discovery.json. */
export const discoveryTable = ${JSON.stringify(JSON.stringify(strip(discovery)))}

/** Printed columns by "group/Kind": JSON text of facts/surface/columns.json. */
export const columnsTable = ${JSON.stringify(JSON.stringify(strip(columns)))}
`
}

interface DiscoveryRow {
  group: string
  version: string
  resource: string
  kind: string
  namespaced?: boolean
}

/** `corev1`, `appsv1`, `autoscalingv2`: how code names a group version. */
function alias(importPath: string): string {
  return importPath.split('/').slice(-2).join('')
}

/** Typed handles of every resource whose types are known: `resources.corev1.pods`. */
export function handlesModule(dir: string, facts: Facts[]): string {
  const rows: DiscoveryRow[] = JSON.parse(readFileSync(join(dir, 'discovery.json'), 'utf8')).resources
  const byAlias = new Map<string, string[]>()
  const imports = new Set<string>()
  for (const row of rows) {
    const home = facts.find((f) => f.group === row.group && f.version === row.version && f.types[row.kind])
    if (!home) continue
    const name = alias(home.importPath)
    imports.add(name)
    const list = byAlias.get(name) ?? []
    list.push(
      `    ${row.resource}: { group: '${row.group}', version: '${row.version}', resource: '${row.resource}', kind: '${row.kind}', namespaced: ${row.namespaced === true} } as ResourceHandle<${name}.${row.kind}>,`,
    )
    byAlias.set(name, list)
  }
  return `import type { ResourceHandle } from '../apimachinery/object.ts'
import type { ${[...imports].sort().join(', ')} } from './groups.generated.ts'

/** Typed handles of the built-in resources, by group version. */
export const resources = {
${[...byAlias].map(([name, list]) => `  ${name}: {\n${list.join('\n')}\n  },`).join('\n')}
} as const
`
}

/** The types of each group version under one name: `corev1.Pod`. */
export function groupsModule(facts: Facts[]): string {
  return `${facts
    .filter((f) => f.importPath.startsWith('k8s.io/') && !f.importPath.includes('apimachinery'))
    .map((f) => `export type * as ${alias(f.importPath)} from './${f.importPath.split('/').slice(-2).join('/')}/types.generated.ts'`)
    .join('\n')}
export type * as metav1 from '../apimachinery/meta/v1/types.generated.ts'
`
}
