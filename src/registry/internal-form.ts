/**
 * Upstream prints structs inside messages in their internal form: Go field names, every field present, in the order of
 * the internal type. The shapes that appear in messages are listed here.
 */
type Field = [go: string, json: string, shape?: string]

const SHAPES: Record<string, Field[]> = {
  ObjectReference: [
    ['Kind', 'kind'],
    ['Namespace', 'namespace'],
    ['Name', 'name'],
    ['UID', 'uid'],
    ['APIVersion', 'apiVersion'],
    ['ResourceVersion', 'resourceVersion'],
    ['FieldPath', 'fieldPath'],
  ],
  ParentReference: [
    ['Group', 'group'],
    ['Resource', 'resource'],
    ['Namespace', 'namespace'],
    ['Name', 'name'],
  ],
  PriorityLevelConfigurationSpec: [
    ['Type', 'type'],
    ['Limited', 'limited', 'LimitedPriorityLevel'],
    ['Exempt', 'exempt', 'ExemptPriorityLevel'],
  ],
  LimitedPriorityLevel: [
    ['NominalConcurrencyShares', 'nominalConcurrencyShares'],
    ['LimitResponse', 'limitResponse', 'LimitResponse'],
    ['LendablePercent', 'lendablePercent'],
    ['BorrowingLimitPercent', 'borrowingLimitPercent'],
  ],
  LimitResponse: [
    ['Type', 'type'],
    ['Queuing', 'queuing', 'QueuingConfiguration'],
  ],
  QueuingConfiguration: [
    ['Queues', 'queues'],
    ['HandSize', 'handSize'],
    ['QueueLengthLimit', 'queueLengthLimit'],
  ],
  ExemptPriorityLevel: [
    ['NominalConcurrencyShares', 'nominalConcurrencyShares'],
    ['LendablePercent', 'lendablePercent'],
  ],
  FlowSchemaSpec: [
    ['PriorityLevelConfiguration', 'priorityLevelConfiguration', 'PriorityLevelReference'],
    ['MatchingPrecedence', 'matchingPrecedence'],
    ['DistinguisherMethod', 'distinguisherMethod', 'DistinguisherMethod'],
    ['Rules', 'rules', 'PolicyRulesWithSubjects'],
  ],
  PriorityLevelReference: [['Name', 'name']],
  DistinguisherMethod: [['Type', 'type']],
  PolicyRulesWithSubjects: [
    ['Subjects', 'subjects', 'FlowSubject'],
    ['ResourceRules', 'resourceRules', 'ResourcePolicyRule'],
    ['NonResourceRules', 'nonResourceRules', 'NonResourcePolicyRule'],
  ],
  FlowSubject: [
    ['Kind', 'kind'],
    ['User', 'user', 'NamedSubject'],
    ['Group', 'group', 'NamedSubject'],
    ['ServiceAccount', 'serviceAccount', 'ServiceAccountSubject'],
  ],
  NamedSubject: [['Name', 'name']],
  ServiceAccountSubject: [
    ['Namespace', 'namespace'],
    ['Name', 'name'],
  ],
  ResourcePolicyRule: [
    ['Verbs', 'verbs'],
    ['APIGroups', 'apiGroups'],
    ['Resources', 'resources'],
    ['ClusterScope', 'clusterScope'],
    ['Namespaces', 'namespaces'],
  ],
  NonResourcePolicyRule: [
    ['Verbs', 'verbs'],
    ['NonResourceURLs', 'nonResourceURLs'],
  ],
  EventSource: [
    ['Component', 'component'],
    ['Host', 'host'],
  ],
  Capabilities: [
    ['Add', 'add'],
    ['Drop', 'drop'],
  ],
  SELinuxOptions: [
    ['User', 'user'],
    ['Role', 'role'],
    ['Type', 'type'],
    ['Level', 'level'],
  ],
  WindowsOptions: [
    ['GMSACredentialSpecName', 'gmsaCredentialSpecName'],
    ['GMSACredentialSpec', 'gmsaCredentialSpec'],
    ['RunAsUserName', 'runAsUserName'],
    ['HostProcess', 'hostProcess'],
  ],
  SeccompProfile: [
    ['Type', 'type'],
    ['LocalhostProfile', 'localhostProfile'],
  ],
  AppArmorProfile: [
    ['Type', 'type'],
    ['LocalhostProfile', 'localhostProfile'],
  ],
  SecurityContext: [
    ['Capabilities', 'capabilities', 'Capabilities'],
    ['Privileged', 'privileged'],
    ['SELinuxOptions', 'seLinuxOptions', 'SELinuxOptions'],
    ['WindowsOptions', 'windowsOptions', 'WindowsOptions'],
    ['RunAsUser', 'runAsUser'],
    ['RunAsGroup', 'runAsGroup'],
    ['RunAsNonRoot', 'runAsNonRoot'],
    ['ReadOnlyRootFilesystem', 'readOnlyRootFilesystem'],
    ['AllowPrivilegeEscalation', 'allowPrivilegeEscalation'],
    ['ProcMount', 'procMount'],
    ['SeccompProfile', 'seccompProfile', 'SeccompProfile'],
    ['AppArmorProfile', 'appArmorProfile', 'AppArmorProfile'],
  ],
  PodResourceClaim: [
    ['Name', 'name'],
    ['ResourceClaimName', 'resourceClaimName'],
    ['ResourceClaimTemplateName', 'resourceClaimTemplateName'],
  ],
  NodeSelectorRequirement: [
    ['Key', 'key'],
    ['Operator', 'operator'],
    ['Values', 'values'],
  ],
  NodeSelectorTerm: [
    ['MatchExpressions', 'matchExpressions', 'NodeSelectorRequirement'],
    ['MatchFields', 'matchFields', 'NodeSelectorRequirement'],
  ],
  PodIP: [['IP', 'ip']],
  HostIP: [['IP', 'ip']],
  Toleration: [
    ['Key', 'key'],
    ['Operator', 'operator'],
    ['Value', 'value'],
    ['Effect', 'effect'],
    ['TolerationSeconds', 'tolerationSeconds'],
  ],
  RollingUpdateDeployment: [
    ['MaxUnavailable', 'maxUnavailable'],
    ['MaxSurge', 'maxSurge'],
  ],
  DeploymentStrategy: [
    ['Type', 'type'],
    ['RollingUpdate', 'rollingUpdate', 'RollingUpdateDeployment'],
  ],
  DaemonSetUpdateStrategy: [
    ['Type', 'type'],
    ['RollingUpdate', 'rollingUpdate', 'RollingUpdateDeployment'],
  ],
  RollingUpdateStatefulSet: [
    ['Partition', 'partition'],
    ['MaxUnavailable', 'maxUnavailable'],
  ],
  StatefulSetUpdateStrategy: [
    ['Type', 'type'],
    ['RollingUpdate', 'rollingUpdate', 'RollingUpdateStatefulSet'],
  ],
}

/** Fields that are plain strings or numbers in Go: their zero value is printed where others print null. */
const PLAIN: Record<string, unknown> = {
  ...{ Type: '', Name: '', Key: '', Operator: '', Value: '', Effect: '', User: '', Role: '', Level: '', IP: '' },
  ...{ Kind: '', Namespace: '', UID: '', APIVersion: '', ResourceVersion: '', FieldPath: '', Component: '', Host: '', Group: '', Resource: '' },
}

/** The value as messages show it; lists are converted element by element. */
export function internalForm(shape: string, value: unknown): unknown {
  if (value === undefined || value === null) return null
  if (Array.isArray(value)) return value.map((v) => internalForm(shape, v))
  const fields = SHAPES[shape]
  if (!fields) return value
  const source = value as Record<string, unknown>
  return Object.fromEntries(
    fields.map(([go, json, inner]) => {
      const field = source[json]
      if (field === undefined || field === null) return [go, inner ? null : (PLAIN[go] ?? null)]
      return [go, inner ? internalForm(inner, field) : field]
    }),
  )
}
