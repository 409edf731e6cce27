/**
 * Writes dist/descriptions.json: what the API's types and fields mean, read from the installed kubernetes-models packages.
 * Keys are declared type names (`k8s.io/api/core/v1.Pod`), then fields; the empty field is the type itself.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** Folders of declarations with the import path of what they declare. */
function sources() {
  const out = []
  const models = join(root, 'node_modules/kubernetes-models')
  for (const file of readdirSync(join(root, 'facts/api')).filter((f) => f.endsWith('.json') && !f.startsWith('cri.'))) {
    const { group, version, importPath } = JSON.parse(readFileSync(join(root, 'facts/api', file), 'utf8'))
    if (version) out.push([join(models, group || version, group ? version : ''), importPath])
  }
  const machinery = join(root, 'node_modules/@kubernetes-models/apimachinery')
  out.push([join(machinery, 'apis/meta/v1'), 'k8s.io/apimachinery/pkg/apis/meta/v1'])
  out.push([join(machinery, 'api/resource'), 'k8s.io/apimachinery/pkg/api/resource'])
  out.push([join(machinery, 'runtime'), 'k8s.io/apimachinery/pkg/runtime'])
  out.push([join(machinery, 'util/intstr'), 'k8s.io/apimachinery/pkg/util/intstr'])
  return out
}

const text = (comment) =>
  comment
    .replace(/^\s*\/\*\*\s*|\s*\*\/\s*$/g, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, ''))
    .join('\n')
    .replaceAll('*\\/', '*/')
    .trim()

/** The descriptions of one declaration file. */
function describe(source) {
  const out = {}
  const declared = /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/)\s*export (?:interface|type) I\w+/.exec(source)
  if (declared) out[''] = text(declared[1])
  const body = /export interface I\w+[^{]*\{\n([\s\S]*?)\n\}/.exec(source)?.[1] ?? ''
  for (const m of body.matchAll(/^ {4}(\/\*\*(?:(?!\*\/)[\s\S])*\*\/)\s*"([^"]+)"\??:/gm)) out[m[2]] = text(m[1])
  return out
}

const table = {}
let fields = 0
for (const [folder, importPath] of sources()) {
  if (!existsSync(folder)) continue
  for (const file of readdirSync(folder).filter((f) => f.endsWith('.d.ts') && f !== 'index.d.ts')) {
    const found = describe(readFileSync(join(folder, file), 'utf8'))
    if (Object.keys(found).length === 0) continue
    fields += Object.keys(found).length
    table[`${importPath}.${file.slice(0, -5)}`] = found
  }
}
if (fields === 0) console.error('no descriptions: kubernetes-models is not installed')
else {
  mkdirSync(join(root, 'dist'), { recursive: true })
  const notice = 'Descriptions of API types and fields: Copyright The Kubernetes Authors, Apache License 2.0, read from kubernetes-models (MIT).'
  writeFileSync(join(root, 'dist/descriptions.json'), JSON.stringify({ notice, types: table }))
}
