import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Names and licences of the packages whose code is in the outputs of these builds. */
export function notices(metafiles) {
  const folders = new Set()
  for (const { inputs, outputs } of metafiles)
    for (const output of Object.values(outputs))
      for (const [path, { bytesInOutput }] of Object.entries(output.inputs)) {
        const m = inputs[path] && bytesInOutput > 0 && /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)
        if (m) folders.add(m[0])
      }
  const parts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const files = readdirSync(folder).filter((f) => /^(licen[cs]e|notice|copying)([.-]|$)/i.test(f) && existsSync(join(folder, f)))
    const texts = files.map((f) => readFileSync(join(folder, f), 'utf8').trim())
    return `${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`
  })
  return `The files of this folder contain code of these packages.\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`
}
