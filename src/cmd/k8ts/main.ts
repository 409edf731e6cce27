import { oldNode } from './old-node.ts'

// Before anything else is loaded: an old Node would fail on syntax it does not know.
const complaint = oldNode(process.versions.node)
if (complaint) {
  console.error(complaint)
  process.exit(1)
}
void import('./run.ts')
  .then(({ run }) => run(process.argv.slice(2)))
  .then((code) => {
    process.exitCode = code
  })
