import type { UserInfo } from '../authentication/authenticator.ts'

/** What a user wants to do, in the terms of RBAC. */
export interface Attributes {
  readonly user: UserInfo
  /** Lower case: get, list, watch, create, update, patch, delete, deletecollection; for other paths the HTTP method. */
  readonly verb: string
  readonly resourceRequest: boolean
  readonly namespace: string
  readonly apiGroup: string
  readonly apiVersion: string
  readonly resource: string
  readonly subresource: string
  readonly name: string
  /** For non-resource requests. */
  readonly path: string
  /** Requirements of list, watch and deletecollection, for authorizers that look at them (the Node authorizer does). */
  readonly fieldSelector?: string
  readonly labelSelector?: string
}

export type Decision = { decision: 'allow' | 'deny' | 'noOpinion'; reason?: string }

/** Synchronous where it can be: it stands in every request's way. */
export interface Authorizer {
  readonly name: string
  authorize(attributes: Attributes): Decision | Promise<Decision>
  /** The rules of a user in a namespace, for SelfSubjectRulesReview; undefined when it cannot tell. */
  rulesFor?(user: UserInfo, namespace: string): Promise<ResourceRules>
}

export interface ResourceRules {
  resourceRules: { verbs: string[]; apiGroups: string[]; resources: string[]; resourceNames?: string[] }[]
  nonResourceRules: { verbs: string[]; nonResourceURLs: string[] }[]
  incomplete: boolean
  errors: string[]
}
