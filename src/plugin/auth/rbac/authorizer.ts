import { aggregateText } from '../../../apimachinery/field.ts'
import type { Attributes, Authorizer, Decision, ResourceRules } from '../../../apiserver/authorization/authorizer.ts'
import type { RuleResolver } from './resolver.ts'
import { ruleAllows } from './rules.ts'

const NO_OPINION: Decision = { decision: 'noOpinion' }

/** Role-based access control: allows what a rule of a bound role allows, and has no opinion on the rest. */
export function rbacAuthorizer(resolver: RuleResolver): Omit<Authorizer, 'authorize'> & { authorize(attributes: Attributes): Decision } {
  return {
    name: 'RBAC',
    authorize(attributes) {
      const { source, errors } = resolver.find(attributes.user, attributes.namespace, (rule) => ruleAllows(rule, attributes))
      if (source !== undefined) return { decision: 'allow', reason: `RBAC: allowed by ${source}` }
      return errors ? { decision: 'noOpinion', reason: `RBAC: ${aggregateText(errors)}` } : NO_OPINION
    },
    async rulesFor(user, namespace): Promise<ResourceRules> {
      const { rules, errors } = resolver.rulesFor(user, namespace)
      const out: ResourceRules = { resourceRules: [], nonResourceRules: [], incomplete: false, errors: errors.map((e) => e.message) }
      for (const rule of rules) {
        if (rule.resources?.length) {
          const { verbs, apiGroups = [], resources, resourceNames } = rule
          out.resourceRules.push({
            verbs: [...verbs],
            apiGroups: [...apiGroups],
            resources: [...resources],
            ...(resourceNames ? { resourceNames: [...resourceNames] } : {}),
          })
        }
        if (rule.nonResourceURLs?.length) out.nonResourceRules.push({ verbs: [...rule.verbs], nonResourceURLs: [...rule.nonResourceURLs] })
      }
      return out
    },
  }
}
