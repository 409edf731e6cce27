/** Fails on an import across a wall, on any cycle, and when it saw no modules at all. */
import { cruise } from 'dependency-cruiser'
import { importedOnlyBy, pure, rooms } from './walls.mjs'

const path = (room) => `^src/${room}/`
const any = (list) => `^src/(${list.join('|')})/`
const forbidden = [{ name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } }]
for (const [room, may] of Object.entries(rooms)) {
  if (may !== '*') {
    forbidden.push({
      name: `walls-of-${room}`,
      severity: 'error',
      from: { path: path(room), pathNot: '\\.test\\.ts$' },
      to: { path: '^src/', pathNot: any([room, ...may]) },
    })
    // Tests may also use src/testing.
    forbidden.push({
      name: `walls-of-${room}-tests`,
      severity: 'error',
      from: { path: `${path(room)}.*\\.test\\.ts$` },
      to: { path: '^src/', pathNot: any([room, ...may, 'testing']) },
    })
  }
  if (pure.includes(room)) {
    forbidden.push({ name: `no-node-in-${room}`, severity: 'error', from: { path: path(room), pathNot: '\\.test\\.ts$' }, to: { dependencyTypes: ['core'] } })
  }
}
for (const [room, by] of Object.entries(importedOnlyBy)) {
  forbidden.push({
    name: `nobody-imports-${room}`,
    severity: 'error',
    from: { path: '^src/', pathNot: by.length ? [any([room, ...by]), '\\.test\\.ts$', '^src/[^/]+\\.ts$'] : [path(room), '\\.test\\.ts$', '^src/[^/]+\\.ts$'] },
    to: { path: path(room) },
  })
}
const { output } = await cruise(['src'], {
  ruleSet: { forbidden },
  validate: true,
  tsPreCompilationDeps: true,
  doNotFollow: { path: 'node_modules' },
  exclude: { path: '\\.generated\\.ts$' },
})
const { totalCruised, violations } = output.summary
for (const v of violations.filter((x) => x.rule.severity === 'error')) {
  console.error(`${v.rule.name}: ${v.from} → ${v.to}${v.cycle ? ` (${v.cycle.map((c) => c.name ?? c).join(' → ')})` : ''}`)
}
const errors = violations.filter((v) => v.rule.severity === 'error').length
if (totalCruised < 25) {
  console.error(`walls: saw only ${totalCruised} modules; the checker is not looking at the sources`)
  process.exit(1)
}
console.log(`walls: ${totalCruised} modules, ${errors} violations`)
process.exit(errors ? 1 : 0)
