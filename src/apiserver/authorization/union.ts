import type { UserInfo } from '../authentication/authenticator.ts'
import { MASTERS_GROUP } from '../authentication/groups.ts'
import type { Attributes, Authorizer, Decision, ResourceRules } from './authorizer.ts'

/** Allows all to members of system:masters; has no opinion on others. Stands first. */
export const privilegedAuthorizer: Authorizer = {
  name: 'privileged-group',
  authorize: ({ user }) => (user.groups.includes(MASTERS_GROUP) ? { decision: 'allow' } : { decision: 'noOpinion' }),
  rulesFor: async () => ({ resourceRules: [], nonResourceRules: [], incomplete: false, errors: [] }),
}

/** Several authorizers as one: the first that allows or denies decides, reasons of the others are kept. Synchronous as long as they are. */
export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer & Required<Pick<Authorizer, 'rulesFor'>> {
  const from = (start: number, attributes: Attributes, reasons: string[]): Decision | Promise<Decision> => {
    for (let i = start; i < authorizers.length; i++) {
      const answer = (authorizers[i] as Authorizer).authorize(attributes)
      if (answer instanceof Promise) {
        return answer.then((decision) => settle(decision, reasons) ?? from(i + 1, attributes, reasons))
      }
      const settled = settle(answer, reasons)
      if (settled) return settled
    }
    return { decision: 'noOpinion', ...(reasons.length ? { reason: reasons.join('\n') } : {}) }
  }
  return {
    name: 'union',
    authorize: (attributes) => from(0, attributes, []),
    async rulesFor(user: UserInfo, namespace: string): Promise<ResourceRules> {
      const all: ResourceRules = { resourceRules: [], nonResourceRules: [], incomplete: false, errors: [] }
      for (const authorizer of authorizers) {
        const rules = await authorizer.rulesFor?.(user, namespace)
        if (!rules) {
          all.incomplete = true
          all.errors.push(`${authorizer.name} authorizer does not support user rule resolution`)
          continue
        }
        all.resourceRules.push(...rules.resourceRules)
        all.nonResourceRules.push(...rules.nonResourceRules)
        all.incomplete ||= rules.incomplete
        all.errors.push(...rules.errors)
      }
      return all
    },
  }
}

function settle(decision: Decision, reasons: string[]): Decision | undefined {
  if (decision.decision === 'allow') return decision
  if (decision.reason) reasons.push(decision.reason)
  if (decision.decision === 'noOpinion') return undefined
  return { decision: 'deny', ...(reasons.length ? { reason: reasons.join('\n') } : {}) }
}
