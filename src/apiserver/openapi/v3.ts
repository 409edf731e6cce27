import type { ResourceInfo, Scheme } from '../../api/scheme.ts'
import { apiVersionOf, type GroupVersion } from '../../apimachinery/object.ts'
import { yielder } from '../../base/yielder.ts'
import { Definitions, type Descriptions, type GroupVersionKindExtension, type JSONObject } from './definitions.ts'
import { type Content, capital, type Operation, operationGroup, type Parameter, type Path, resourcePaths, tagGroup } from './operations.ts'

export interface DocumentOptions {
  /** `info.version`, such as `1.36` or `v1.36.2`. */
  version: string
  descriptions?: Descriptions
  /** List the values of enum types, as servers do; published documents leave them out. */
  enums?: boolean
  /** CBOR is served too (a gate, off by default). */
  cbor?: boolean
}

export const SECURITY = { BearerToken: { type: 'apiKey', description: 'Bearer Token authentication', name: 'authorization', in: 'header' } }

/** The OpenAPI 3 document of a group version: paths of its resources and every type they need. */
export function groupVersionDocument(scheme: Scheme, gv: GroupVersion, resources: readonly ResourceInfo[], options: DocumentOptions): JSONObject {
  const { definitions, paths } = groupVersionParts(scheme, gv, resources, options)
  return document(options, Object.fromEntries(paths), definitions)
}

/** The same document as text, made in slices that leave the event loop free. */
export async function groupVersionText(scheme: Scheme, gv: GroupVersion, resources: readonly ResourceInfo[], options: DocumentOptions): Promise<string> {
  const tick = yielder()
  const { definitions, paths } = groupVersionParts(scheme, gv, resources, { ...options, deferred: true })
  const pathTexts: string[] = []
  for (const [path, value] of paths) {
    pathTexts.push(`${JSON.stringify(path)}:${JSON.stringify(value)}`)
    await tick()
  }
  await definitions.settle(tick)
  const schemas: string[] = []
  for (const [name, value] of Object.entries(definitions.sorted())) {
    schemas.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`)
    await tick()
  }
  const info = JSON.stringify({ title: 'Kubernetes', version: options.version })
  return `{"openapi":"3.0.0","info":${info},"paths":{${pathTexts.join(',')}},"components":{"schemas":{${schemas.join(',')}},"securitySchemes":${JSON.stringify(SECURITY)}}}`
}

function groupVersionParts(
  scheme: Scheme,
  gv: GroupVersion,
  resources: readonly ResourceInfo[],
  options: DocumentOptions & { deferred?: boolean },
): { definitions: Definitions; paths: Iterable<[string, JSONObject]> } {
  const definitions = new Definitions('v3', kindsOf(scheme, gv), options)
  const render = new Renderer(definitions, options.cbor === true)
  const tag = `${tagGroup(gv.group)}_${gv.version}`
  function* paths(): Iterable<[string, JSONObject]> {
    for (const p of groupVersionPaths(scheme, gv, resources)) yield [p.path, render.path(p, tag)]
  }
  return { definitions, paths: paths() }
}

/** Paths of a group version: its resource list, then its resources. */
export function groupVersionPaths(scheme: Scheme, gv: GroupVersion, resources: readonly ResourceInfo[]): Path[] {
  const path = gv.group === '' ? `/api/${gv.version}/` : `/apis/${apiVersionOf(gv)}/`
  const id = `get${operationGroup(gv.group)}${capital(gv.version)}APIResources`
  return [discoveryPath(scheme, path, id, 'APIResourceList'), ...resourcePaths(scheme, resources)]
}

/** Path of a discovery document. */
function discoveryPath(scheme: Scheme, path: string, id: string, kind: string): Path {
  const schema = scheme.schema({ group: '', version: 'v1', kind })
  if (!schema) throw new Error(`openapi: no type for ${kind}`)
  return { path, parameters: [], operations: [{ method: 'get', id, parameters: [], answers: 'object', responses: [[200, { kind: 'type', schema }]] }] }
}

/** Path of `/api`, `/apis` (group undefined) or `/apis/{group}`, with its tag. */
export function groupPath(scheme: Scheme, group: string | undefined): { path: Path; tag: string } {
  if (group === undefined) return { path: discoveryPath(scheme, '/apis/', 'getAPIVersions', 'APIGroupList'), tag: 'apis' }
  if (group === '') return { path: discoveryPath(scheme, '/api/', 'getCoreAPIVersions', 'APIVersions'), tag: 'core' }
  return { path: discoveryPath(scheme, `/apis/${group}/`, `get${operationGroup(group)}APIGroup`, 'APIGroup'), tag: tagGroup(group) }
}

/** The document of `/api`, `/apis` or `/apis/{group}`: the discovery document served there. */
export function discoveryDocument(scheme: Scheme, group: string | undefined, options: DocumentOptions): JSONObject {
  const { path, tag } = groupPath(scheme, group)
  const definitions = new Definitions('v3', kindsOf(scheme, { group: '', version: 'v1' }), options)
  return document(options, { [path.path]: new Renderer(definitions, options.cbor === true).path(path, tag) }, definitions)
}

export const VERSION_INFO: JSONObject = (() => {
  const required = ['major', 'minor', 'gitVersion', 'gitCommit', 'gitTreeState', 'buildDate', 'goVersion', 'compiler', 'platform']
  const descriptions: Record<string, string> = {}
  for (const part of ['major', 'minor']) {
    const name = capital(part)
    descriptions[part] = `${name} is the ${part} version of the binary version`
    descriptions[`emulation${name}`] = `Emulation${name} is the ${part} version of the emulation version`
    descriptions[`minCompatibility${name}`] = `MinCompatibility${name} is the ${part} version of the minimum compatibility version`
  }
  const names = [...new Set([...required, ...Object.keys(descriptions)])].sort()
  const properties = names.map((f) => [
    f,
    { ...(descriptions[f] === undefined ? {} : { description: descriptions[f] }), type: 'string', ...(required.includes(f) ? { default: '' } : {}) },
  ])
  return {
    description: "Info contains versioning information. how we'll want to distribute that information.",
    type: 'object',
    required,
    properties: Object.fromEntries(properties),
  }
})()

/** The document of `/version`. */
export function versionDocument(options: DocumentOptions): JSONObject {
  const name = 'io.k8s.apimachinery.pkg.version.Info'
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: options.version },
    paths: {
      '/version/': {
        get: {
          tags: ['version'],
          description: 'get the version information for this server',
          operationId: 'getCodeVersion',
          responses: {
            200: { description: 'OK', content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } } },
            401: { description: 'Unauthorized' },
          },
        },
      },
    },
    components: { schemas: { [name]: VERSION_INFO }, securitySchemes: SECURITY },
  }
}

/** The document of the keys that sign service-account tokens, `/openid/v1/jwks`, or of `/.well-known/openid-configuration`. */
export function openIDDocument(which: 'jwks' | 'configuration', options: DocumentOptions): JSONObject {
  const jwks = which === 'jwks'
  const path = jwks ? '/openid/v1/jwks/' : '/.well-known/openid-configuration/'
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: options.version },
    paths: {
      [path]: {
        get: {
          tags: [jwks ? 'openid' : 'WellKnown'],
          description: jwks
            ? 'get service account issuer OpenID JSON Web Key Set (contains public token verification keys)'
            : "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
          operationId: jwks ? 'getServiceAccountIssuerOpenIDKeyset' : 'getServiceAccountIssuerOpenIDConfiguration',
          responses: {
            200: { description: 'OK', content: { [jwks ? 'application/jwk-set+json' : 'application/json']: { schema: { type: 'string' } } } },
            401: { description: 'Unauthorized' },
          },
        },
      },
    },
    components: { securitySchemes: SECURITY },
  }
}

function document(options: DocumentOptions, paths: JSONObject, definitions: Definitions): JSONObject {
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: options.version },
    paths,
    components: { schemas: definitions.sorted(), securitySchemes: SECURITY },
  }
}

/** Kinds of the document's own group version, and the unversioned ones; those that exist everywhere are listed under both. */
export function kindsOf(scheme: Scheme, gv: GroupVersion): (typeName: string) => GroupVersionKindExtension[] {
  return (typeName) => {
    const dot = typeName.lastIndexOf('.')
    const kind = typeName.slice(dot + 1)
    const path = typeName.slice(0, dot)
    const isKind = (candidate: GroupVersion) => scheme.typeName({ ...candidate, kind }) === typeName
    if (path.endsWith('/meta/v1')) {
      const out: GroupVersionKindExtension[] = []
      const core = { group: '', version: 'v1' }
      if (isKind(core)) out.push({ group: '', kind, version: 'v1' })
      if (apiVersionOf(gv) !== 'v1' && isKind(gv)) out.push({ group: gv.group, kind, version: gv.version })
      return out
    }
    const { group, version } = scheme.types.package(path)
    return isKind({ group, version }) ? [{ group, kind, version }] : []
  }
}

class Renderer {
  private readonly definitions: Definitions
  private readonly cbor: boolean

  constructor(definitions: Definitions, cbor: boolean) {
    this.definitions = definitions
    this.cbor = cbor
  }

  path(p: Path, tag: string): JSONObject {
    const out: JSONObject = {}
    for (const o of p.operations) out[o.method] = this.operation(o, tag)
    if (p.parameters.length) out.parameters = p.parameters.map(parameter)
    return out
  }

  private operation(o: Operation, tag: string): JSONObject {
    const responses: JSONObject = {}
    for (const [code, content] of o.responses)
      responses[code] = { description: DESCRIPTIONS[code], content: this.contents(content, this.mediaTypes(o.answers)) }
    responses[401] = { description: 'Unauthorized' }
    return {
      tags: [tag],
      operationId: o.id,
      ...(o.parameters.length ? { parameters: o.parameters.map(parameter) } : {}),
      ...(o.body
        ? {
            requestBody: {
              content: this.contents(o.body.content, o.body.content.kind === 'patch' ? this.patchTypes() : ['*/*']),
              ...(o.body.required ? { required: true } : {}),
            },
          }
        : {}),
      responses,
      ...(o.action === undefined ? {} : { 'x-kubernetes-action': o.action }),
      ...(o.gvk === undefined ? {} : { 'x-kubernetes-group-version-kind': o.gvk }),
    }
  }

  private contents(content: Content, types: readonly string[]): JSONObject {
    const schema =
      content.kind === 'type'
        ? this.definitions.reference(content.schema)
        : content.kind === 'patch'
          ? this.definitions.referenceSpecial('patch')
          : { type: 'string' }
    return Object.fromEntries(types.map((t) => [t, { schema }]))
  }

  private mediaTypes(answers: Operation['answers']): string[] {
    const cbor = this.cbor ? ['application/cbor'] : []
    switch (answers) {
      case 'any':
        return ['*/*']
      case 'object':
        return [...cbor, 'application/json', 'application/vnd.kubernetes.protobuf', 'application/yaml']
      case 'log':
        return [...cbor, 'application/json', 'application/vnd.kubernetes.protobuf', 'application/yaml', 'text/plain']
      case 'list':
        return [
          ...cbor,
          ...(this.cbor ? ['application/cbor-seq'] : []),
          'application/json',
          'application/json;stream=watch',
          'application/vnd.kubernetes.protobuf',
          'application/vnd.kubernetes.protobuf;stream=watch',
          'application/yaml',
        ]
    }
  }

  private patchTypes(): string[] {
    return [
      ...(this.cbor ? ['application/apply-patch+cbor'] : []),
      'application/apply-patch+yaml',
      'application/json-patch+json',
      'application/merge-patch+json',
      'application/strategic-merge-patch+json',
    ]
  }
}

export const DESCRIPTIONS: Readonly<Record<number, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted' }

function parameter(p: Parameter): JSONObject {
  return { name: p.name, in: p.in, ...(p.in === 'path' ? { required: true } : {}), schema: { type: p.type, uniqueItems: true } }
}
