import type { ResourceInfo, Scheme } from '../../api/scheme.ts'
import type { GroupVersion } from '../../apimachinery/object.ts'
import { yielder } from '../../base/yielder.ts'
import { Definitions, type GroupVersionKindExtension, type JSONObject } from './definitions.ts'
import { type Content, type Operation, type Parameter, type Path, tagGroup } from './operations.ts'
import { DESCRIPTIONS, type DocumentOptions, groupPath, groupVersionPaths, SECURITY, VERSION_INFO } from './v3.ts'

/** A group version and its resources as the OpenAPI 2 document merges them. */
export interface DocumentedVersion extends GroupVersion {
  readonly resources: readonly ResourceInfo[]
}

/** Definitions and paths that other sources (custom resources) add, in OpenAPI 2 form. */
export interface ExtraSwagger {
  readonly definitions: Readonly<Record<string, JSONObject>>
  readonly paths: Readonly<Record<string, JSONObject>>
}

/** The OpenAPI 2 document of everything served, as text, made in slices that leave the event loop free. */
export async function swaggerText(scheme: Scheme, versions: readonly DocumentedVersion[], options: DocumentOptions, extra?: ExtraSwagger): Promise<string> {
  const tick = yielder()
  // Tables of types are parsed on first use: one at a time.
  for (const v of scheme.versions()) {
    scheme.typeName({ ...v, kind: 'DeleteOptions' })
    await tick()
  }
  const definitions = new Definitions('v2', allKinds(scheme), { ...options, deferred: true })
  const paths: [string, string][] = []
  const add = (p: Path, tag: string, cbor: boolean) => paths.push([p.path, JSON.stringify(renderPath(p, tag, definitions, cbor))])
  for (const group of [undefined, '', ...new Set(versions.map((v) => v.group).filter((g) => g !== ''))]) {
    const { path, tag } = groupPath(scheme, group)
    add(path, tag, false)
  }
  for (const v of versions) {
    for (const p of groupVersionPaths(scheme, v, v.resources)) {
      add(p, `${tagGroup(v.group)}_${v.version}`, options.cbor === true)
      await tick()
    }
  }
  await definitions.settle(tick)
  paths.push(['/version/', JSON.stringify(versionPath())])
  for (const [path, value] of Object.entries(extra?.paths ?? {})) paths.push([path, JSON.stringify(value)])
  paths.sort(([a], [b]) => (a < b ? -1 : 1))
  const types: JSONObject = { ...definitions.sorted(), 'io.k8s.apimachinery.pkg.version.Info': withoutDefaults(VERSION_INFO), ...extra?.definitions }
  const texts: string[] = []
  for (const name of Object.keys(types).sort()) {
    texts.push(`${JSON.stringify(name)}:${JSON.stringify(types[name])}`)
    await tick()
  }
  const info = JSON.stringify({ title: 'Kubernetes', version: options.version })
  const body = paths.map(([path, text]) => `${JSON.stringify(path)}:${text}`).join(',')
  const security = `"securityDefinitions":${JSON.stringify(SECURITY)},"security":[{"BearerToken":[]}]`
  return `{"swagger":"2.0","info":${info},"paths":{${body}},"definitions":{${texts.join(',')}},${security}}`
}

function withoutDefaults(schema: JSONObject): JSONObject {
  const properties = Object.fromEntries(Object.entries(schema.properties as Record<string, JSONObject>).map(([k, { default: _, ...rest }]) => [k, rest]))
  return { ...schema, properties }
}

/** Kinds of a type under every registered group version, as one document shows them all. */
function allKinds(scheme: Scheme): (typeName: string) => GroupVersionKindExtension[] {
  const versions = scheme
    .versions()
    .filter((v) => v.group !== 'meta.k8s.io')
    .sort((a, b) => (a.group === b.group ? (a.version < b.version ? -1 : 1) : a.group < b.group ? -1 : 1))
  return (typeName) => {
    const dot = typeName.lastIndexOf('.')
    const kind = typeName.slice(dot + 1)
    const path = typeName.slice(0, dot)
    const candidates = path.endsWith('/meta/v1') ? versions : [scheme.types.package(path)]
    return candidates
      .filter((v) => scheme.typeName({ group: v.group, version: v.version, kind }) === typeName)
      .map((v) => ({ group: v.group, kind, version: v.version }))
  }
}

function versionPath(): JSONObject {
  return {
    get: {
      description: 'get the version information for this server',
      consumes: ['application/json'],
      produces: ['application/json'],
      schemes: ['https'],
      tags: ['version'],
      operationId: 'getCodeVersion',
      responses: { 200: { description: 'OK', schema: { $ref: '#/definitions/io.k8s.apimachinery.pkg.version.Info' } }, 401: { description: 'Unauthorized' } },
    },
  }
}

function renderPath(p: Path, tag: string, definitions: Definitions, cbor: boolean): JSONObject {
  const out: JSONObject = {}
  for (const o of p.operations) out[o.method] = renderOperation(o, tag, definitions, cbor)
  if (p.parameters.length) out.parameters = p.parameters.map(parameter)
  return out
}

function renderOperation(o: Operation, tag: string, definitions: Definitions, cbor: boolean): JSONObject {
  const schemaOf = (content: Content) =>
    content.kind === 'type' ? definitions.reference(content.schema) : content.kind === 'patch' ? definitions.referenceSpecial('patch') : { type: 'string' }
  const responses: JSONObject = {}
  for (const [code, content] of o.responses) responses[code] = { description: DESCRIPTIONS[code], schema: schemaOf(content) }
  responses[401] = { description: 'Unauthorized' }
  const body = o.body ? [{ name: 'body', in: 'body', ...(o.body.required ? { required: true } : {}), schema: schemaOf(o.body.content) }] : []
  const parameters = [...body, ...o.parameters.map(parameter)]
  const discovery = o.action === undefined
  return {
    consumes: o.body?.content.kind === 'patch' ? patchTypes(cbor) : discovery ? objectTypes(cbor) : ['*/*'],
    produces: produced(o.answers, cbor),
    schemes: ['https'],
    tags: [tag],
    operationId: o.id,
    ...(parameters.length ? { parameters } : {}),
    responses,
    ...(o.action === undefined ? {} : { 'x-kubernetes-action': o.action }),
    ...(o.gvk === undefined ? {} : { 'x-kubernetes-group-version-kind': o.gvk }),
  }
}

function objectTypes(cbor: boolean): string[] {
  return ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf', ...(cbor ? ['application/cbor'] : [])]
}

function patchTypes(cbor: boolean): string[] {
  return [
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/strategic-merge-patch+json',
    'application/apply-patch+yaml',
    ...(cbor ? ['application/apply-patch+cbor'] : []),
  ]
}

function produced(answers: Operation['answers'], cbor: boolean): string[] {
  switch (answers) {
    case 'any':
      return ['*/*']
    case 'object':
      return objectTypes(cbor)
    case 'log':
      return ['text/plain', ...objectTypes(cbor)]
    case 'list':
      return [
        ...objectTypes(cbor),
        'application/json;stream=watch',
        'application/vnd.kubernetes.protobuf;stream=watch',
        ...(cbor ? ['application/cbor-seq'] : []),
      ]
  }
}

function parameter(p: Parameter): JSONObject {
  return { uniqueItems: true, type: p.type, name: p.name, in: p.in, ...(p.in === 'path' ? { required: true } : {}) }
}
