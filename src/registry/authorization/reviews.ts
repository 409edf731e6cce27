import type { authorizationv1 } from '../../api/index.ts'
import { newBadRequest, newInvalid } from '../../apimachinery/errors.ts'
import type { ErrorList } from '../../apimachinery/field.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import type { UserInfo } from '../../apiserver/authentication/authenticator.ts'
import type { Attributes, Authorizer, Decision } from '../../apiserver/authorization/authorizer.ts'
import type { CreateHandler } from '../../apiserver/registry/create-handler.ts'
import { validateLocalSubjectAccessReview, validateNoMetadata, validateSelfSubjectAccessReviewSpec, validateSubjectAccessReviewSpec } from './validation.ts'

const GROUP = 'authorization.k8s.io'

/** The four reviews: asked of the same authorizer that stands in every request's way. */
export function accessReviewHandlers(authorizer: Authorizer): CreateHandler[] {
  const decide = async (attributes: Attributes) => reviewStatus(await authorizer.authorize(attributes))
  const subject: CreateHandler<authorizationv1.SubjectAccessReview> = {
    group: GROUP,
    resource: 'subjectaccessreviews',
    async create(review) {
      refuse([...validateSubjectAccessReviewSpec(review.spec), ...validateNoMetadata(review.metadata)])
      // This kind alone is answered without the notes the server made in its metadata.
      return { ...review, metadata: {}, status: await decide(attributesOf(review.spec, userOf(review.spec))) }
    },
  }
  const local: CreateHandler<authorizationv1.LocalSubjectAccessReview> = {
    group: GROUP,
    resource: 'localsubjectaccessreviews',
    async create(review, { namespace }) {
      refuse([...validateLocalSubjectAccessReview(review, namespace), ...validateNoMetadata(review.metadata, namespace)])
      return { ...review, status: await decide(attributesOf(review.spec, userOf(review.spec))) }
    },
  }
  const self: CreateHandler<authorizationv1.SelfSubjectAccessReview> = {
    group: GROUP,
    resource: 'selfsubjectaccessreviews',
    async create(review, { user }) {
      refuse([...validateSelfSubjectAccessReviewSpec(review.spec), ...validateNoMetadata(review.metadata)])
      return { ...review, status: await decide(attributesOf(review.spec, user)) }
    },
  }
  const rules: CreateHandler<authorizationv1.SelfSubjectRulesReview> = {
    group: GROUP,
    resource: 'selfsubjectrulesreviews',
    async create(review, { user }) {
      const namespace = review.spec?.namespace ?? ''
      if (namespace === '') throw newBadRequest('no namespace on request')
      const found = await authorizer.rulesFor?.(user, namespace)
      if (!found) return { ...review, status: { resourceRules: [], nonResourceRules: [], incomplete: true } }
      return {
        ...review,
        status: {
          resourceRules: found.resourceRules,
          nonResourceRules: found.nonResourceRules,
          incomplete: found.incomplete,
          ...(found.errors.length ? { evaluationError: found.errors.length === 1 ? found.errors[0] : `[${found.errors.join(', ')}]` } : {}),
        },
      } as authorizationv1.SelfSubjectRulesReview
    },
  }
  return [subject, local, self, rules] as unknown as CreateHandler<KubeObject>[]
}

function refuse(errors: ErrorList): void {
  // The original leaves kind and name of these errors empty.
  if (errors.length) throw newInvalid({ group: GROUP, kind: '' }, '', errors)
}

function reviewStatus({ decision, reason }: Decision): authorizationv1.SubjectAccessReviewStatus {
  return { allowed: decision === 'allow', ...(decision === 'deny' ? { denied: true } : {}), ...(reason ? { reason } : {}) }
}

function userOf(spec: authorizationv1.SubjectAccessReviewSpec): UserInfo {
  return {
    name: spec.user ?? '',
    ...(spec.uid ? { uid: spec.uid } : {}),
    groups: spec.groups ?? [],
    ...(spec.extra ? { extra: spec.extra as Record<string, string[]> } : {}),
  }
}

function attributesOf(spec: authorizationv1.SelfSubjectAccessReviewSpec, user: UserInfo): Attributes {
  const nothing = { namespace: '', apiGroup: '', apiVersion: '', resource: '', subresource: '', name: '', path: '' }
  const path = spec.nonResourceAttributes
  if (path) return { ...nothing, user, resourceRequest: false, verb: path.verb ?? '', path: path.path ?? '' }
  const r = spec.resourceAttributes ?? {}
  const fieldSelector = selectorText(r.fieldSelector)
  const labelSelector = selectorText(r.labelSelector)
  return {
    ...nothing,
    user,
    resourceRequest: true,
    verb: r.verb ?? '',
    namespace: r.namespace ?? '',
    apiGroup: r.group ?? '',
    apiVersion: r.version ?? '',
    resource: r.resource ?? '',
    subresource: r.subresource ?? '',
    name: r.name ?? '',
    ...(fieldSelector ? { fieldSelector } : {}),
    ...(labelSelector ? { labelSelector } : {}),
  }
}

interface Selector {
  rawSelector?: string
  requirements?: { key?: string; operator?: string; values?: string[] }[]
}

function selectorText(selector: Selector | undefined): string | undefined {
  if (!selector) return undefined
  if (selector.rawSelector) return selector.rawSelector
  const parts: string[] = []
  for (const { key = '', operator, values = [] } of selector.requirements ?? []) {
    if (operator === 'In') parts.push(values.length === 1 ? `${key}=${values[0]}` : `${key} in (${values.join(',')})`)
    else if (operator === 'NotIn') parts.push(values.length === 1 ? `${key}!=${values[0]}` : `${key} notin (${values.join(',')})`)
    else if (operator === 'Exists') parts.push(key)
    else if (operator === 'DoesNotExist') parts.push(`!${key}`)
  }
  return parts.join(',')
}
