import type { ResourceInfo, Scheme } from '../../api/scheme.ts'
import { apiVersionOf, type GroupVersion } from '../../apimachinery/object.ts'
import { Definitions, type JSONObject } from './definitions.ts'
import { capital, operationGroup, type Parameter, tagGroup, WRITE_PARAMETERS } from './operations.ts'
import { DESCRIPTIONS, type DocumentOptions, kindsOf, SECURITY } from './v3.ts'

/** One custom resource with the schema its definition gives, if it gives one. */
export interface CustomDocumented {
  readonly info: ResourceInfo
  readonly schema: JSONObject | undefined
}

const API_VERSION_TEXT =
  'APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources'
const KIND_TEXT =
  'Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds'

/** The OpenAPI 3 document of a group version of custom resources. */
export function customDocument(scheme: Scheme, gv: GroupVersion, resources: readonly CustomDocumented[], options: DocumentOptions): JSONObject {
  const definitions = new Definitions('v3', kindsOf(scheme, gv), options)
  const meta = (kind: string) => {
    const schema = scheme.types.structType(`k8s.io/apimachinery/pkg/apis/meta/v1.${kind}`)
    return definitions.reference(schema)
  }
  const schemas: JSONObject = {}
  const paths: JSONObject = {}
  for (const { info, schema } of resources) {
    const name = [...gv.group.split('.').reverse(), gv.version, info.kind].join('.')
    const own = schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
    schemas[name] = {
      ...own,
      properties: {
        ...(own.properties as JSONObject | undefined),
        apiVersion: { type: 'string', description: API_VERSION_TEXT },
        kind: { type: 'string', description: KIND_TEXT },
        metadata: { description: 'Standard object metadata.', allOf: [meta('ObjectMeta')] },
      },
      'x-kubernetes-group-version-kind': [{ group: gv.group, kind: info.kind, version: gv.version }],
    }
    schemas[`${name}List`] = {
      description: `${info.kind}List is a list of ${info.kind}`,
      type: 'object',
      required: ['items'],
      properties: {
        apiVersion: { type: 'string', description: API_VERSION_TEXT },
        items: { type: 'array', items: { $ref: `#/components/schemas/${name}` } },
        kind: { type: 'string', description: KIND_TEXT },
        metadata: { description: 'Standard list metadata.', allOf: [meta('ListMeta')] },
      },
      'x-kubernetes-group-version-kind': [{ group: gv.group, kind: `${info.kind}List`, version: gv.version }],
    }
    Object.assign(paths, new CustomPaths(info, name, meta, scheme, definitions).all())
  }
  const all = { ...definitions.sorted(), ...schemas }
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' },
    paths,
    components: { schemas: Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1))), securitySchemes: SECURITY },
  }
}

class CustomPaths {
  private readonly info: ResourceInfo
  private readonly own: JSONObject
  private readonly list: JSONObject
  private readonly meta: (kind: string) => JSONObject
  private readonly scheme: Scheme
  private readonly definitions: Definitions
  private readonly tag: string
  private readonly version: string

  constructor(info: ResourceInfo, name: string, meta: (kind: string) => JSONObject, scheme: Scheme, definitions: Definitions) {
    this.info = info
    this.own = { $ref: `#/components/schemas/${name}` }
    this.list = { $ref: `#/components/schemas/${name}List` }
    this.meta = meta
    this.scheme = scheme
    this.definitions = definitions
    this.tag = `${tagGroup(info.group)}_${info.version}`
    this.version = `${operationGroup(info.group)}${capital(info.version)}`
  }

  all(): JSONObject {
    const { info, own, list, version } = this
    const root = `/apis/${apiVersionOf(info)}`
    const scoped = `${info.namespaced ? 'Namespaced' : ''}${info.kind}`
    const collection = `${root}${info.namespaced ? '/namespaces/{namespace}' : ''}/${info.resource}`
    const where = info.namespaced ? ['namespace'] : []
    const status = this.meta('Status')
    const out: JSONObject = {
      [collection]: {
        get: this.operation(`list${version}${scoped}`, 'list', [], undefined, { 200: list }),
        post: this.operation(`create${version}${scoped}`, 'post', WRITE_PARAMETERS, own, { 200: own, 201: own, 202: own }),
        delete: this.operation(`delete${version}Collection${scoped}`, 'deletecollection', [], undefined, { 200: status }),
        parameters: this.parameters(where),
      },
      [`${collection}/{name}`]: this.item(scoped, where, own, status),
    }
    if (info.namespaced) {
      out[`${root}/${info.resource}`] = {
        get: this.operation(`list${version}${info.kind}ForAllNamespaces`, 'list', [], undefined, { 200: list }),
        parameters: this.parameters([]),
      }
    }
    for (const s of info.subresources) {
      const scale = s.kind === 'Scale' ? this.scheme.schema({ group: 'autoscaling', version: 'v1', kind: 'Scale' }) : undefined
      const content = scale ? this.definitions.reference(scale) : own
      out[`${collection}/{name}/${s.name}`] = this.item(`${scoped}${capital(s.name)}`, where, content, undefined)
    }
    return out
  }

  private item(suffix: string, where: readonly string[], content: JSONObject, status: JSONObject | undefined): JSONObject {
    const { version } = this
    return {
      get: this.operation(`read${version}${suffix}`, 'get', [], undefined, { 200: content }),
      put: this.operation(`replace${version}${suffix}`, 'put', WRITE_PARAMETERS, content, { 200: content, 201: content }),
      ...(status ? { delete: this.operation(`delete${version}${suffix}`, 'delete', [], this.meta('DeleteOptions'), { 200: status, 202: status }) } : {}),
      patch: this.operation(
        `patch${version}${suffix}`,
        'patch',
        [...WRITE_PARAMETERS, { name: 'force', in: 'query', type: 'boolean' }],
        this.definitions.referenceSpecial('patch'),
        { 200: content },
        ['application/apply-patch+yaml', 'application/json-patch+json', 'application/merge-patch+json'],
      ),
      parameters: this.parameters(['name', ...where]),
    }
  }

  private parameters(path: readonly string[]): JSONObject[] {
    return [
      ...path.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string', uniqueItems: true } })),
      queryParameter({ name: 'pretty', in: 'query', type: 'string' }),
    ]
  }

  private operation(
    id: string,
    action: string,
    parameters: readonly Parameter[],
    body: JSONObject | undefined,
    responses: Readonly<Record<number, JSONObject>>,
    bodyTypes: readonly string[] = ['application/json', 'application/yaml'],
  ): JSONObject {
    const { info } = this
    const contents = (schema: JSONObject, types: readonly string[]) => Object.fromEntries(types.map((t) => [t, { schema }]))
    const answers: JSONObject = {}
    for (const [code, schema] of Object.entries(responses)) {
      answers[code] = { description: DESCRIPTIONS[Number(code)], content: contents(schema, ['application/json', 'application/yaml']) }
    }
    answers[401] = { description: 'Unauthorized' }
    return {
      tags: [this.tag],
      operationId: id,
      ...(parameters.length ? { parameters: parameters.map(queryParameter) } : {}),
      ...(body ? { requestBody: { content: contents(body, bodyTypes) } } : {}),
      responses: answers,
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': { group: info.group, version: info.version, kind: info.kind },
    }
  }
}

function queryParameter(p: Parameter): JSONObject {
  return { name: p.name, in: p.in, schema: { type: p.type, uniqueItems: true } }
}
