import type { apiregistrationv1 } from '../../api/index.ts'
import { type ErrorList, FieldPath, invalid, notSupported, required } from '../../apimachinery/field.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { isDNS1035Label, isDNS1123Subdomain } from '../../apimachinery/validation/names.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { deepCopy } from '../../base/index.ts'
import { namedColumns } from '../named-age.ts'

type APIService = apiregistrationv1.APIService

const SPEC = FieldPath.root('spec')
const STATUSES = ['True', 'False', 'Unknown']

/** How many bytes a base64 text stands for. */
const byteCount = (text: string) => Buffer.from(text, 'base64').length

function validate(item: APIService): ErrorList {
  const spec = item.spec ?? ({} as APIService['spec'])
  const { group = '', version = '', groupPriorityMinimum: groupPriority = 0, versionPriority = 0, service, caBundle, insecureSkipTLSVerify: insecure } = spec
  const errors: ErrorList = []
  const name = item.metadata.name ?? ''
  const wanted = `${version}.${group}`
  if (name !== wanted) errors.push(invalid(FieldPath.root('metadata', 'name'), name, `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(wanted)}`))
  if (group === '') {
    if (version !== 'v1') errors.push(required(SPEC.child('group'), 'only v1 may have an empty group and it better be legacy kube'))
  } else for (const text of isDNS1123Subdomain(group)) errors.push(invalid(SPEC.child('group'), group, text))
  for (const text of isDNS1035Label(version)) errors.push(invalid(SPEC.child('version'), version, text))
  if (groupPriority <= 0 || groupPriority > 20000)
    errors.push(invalid(SPEC.child('groupPriorityMinimum'), groupPriority, 'must be positive and less than 20000'))
  if (versionPriority <= 0 || versionPriority > 1000)
    errors.push(invalid(SPEC.child('versionPriority'), versionPriority, 'must be positive and less than 1000'))
  if (!service) {
    if (caBundle) errors.push(invalid(SPEC.child('caBundle'), `${byteCount(caBundle)} bytes`, 'local APIServices may not have a caBundle'))
    if (insecure) errors.push(invalid(SPEC.child('insecureSkipTLSVerify'), insecure, 'local APIServices may not have insecureSkipTLSVerify'))
    return errors
  }
  const path = SPEC.child('service')
  if (!service.namespace) errors.push(required(path.child('namespace')))
  if (!service.name) errors.push(required(path.child('name')))
  const port = service.port ?? 443
  if (port < 1 || port > 65535) errors.push(invalid(path.child('port'), port, 'port is not valid: must be between 1 and 65535, inclusive'))
  if (insecure && caBundle) errors.push(invalid(SPEC.child('insecureSkipTLSVerify'), insecure, 'may not be true if caBundle is present'))
  return errors
}

function validateStatus({ status }: APIService): ErrorList {
  return (status?.conditions ?? []).flatMap((c, i) =>
    STATUSES.includes(c.status) ? [] : [notSupported(FieldPath.root('status', 'conditions').index(i).child('status'), c.status, STATUSES)],
  )
}

function availableText({ status }: APIService): string {
  const condition = status?.conditions?.find((c) => c.type === 'Available')
  if (!condition) return 'Unknown'
  if (condition.status === 'True') return 'True'
  return condition.reason ? `${condition.status} (${condition.reason})` : condition.status
}

const apiServiceKind: KindRegistration<APIService> = {
  group: 'apiregistration.k8s.io',
  resource: 'apiservices',
  storage: { group: 'apiregistration.k8s.io', version: 'v1', kind: 'APIService' },
  strategy: {
    nameRule: 'pathSegment',
    generation: 'none',
    allowUnconditionalUpdate: false,
    defaults({ spec }) {
      if (spec?.service) spec.service.port ??= 443
    },
    prepareForCreate(item, context) {
      item.status = {}
      // What the server serves itself is there from the start.
      if (!item.spec?.service) item.status = { conditions: [localCondition(context.now())] }
    },
    validate,
    validateUpdate: (item) => validate(item),
  },
  status: {
    prepareForUpdate(item, old) {
      item.spec = deepCopy(old.spec)
    },
    validateUpdate: validateStatus,
  },
  columns: namedColumns<APIService>('Service|Available|Age', (item) => {
    const service = item.spec?.service
    return [service ? `${service.namespace}/${service.name}` : 'Local', availableText(item)]
  }),
}

function localCondition(now: number): apiregistrationv1.APIServiceCondition {
  return {
    type: 'Available',
    status: 'True',
    lastTransitionTime: formatTime(now),
    reason: 'Local',
    message: 'Local APIServices are always available',
  }
}

export const apiRegistrationKinds = [apiServiceKind] as KindRegistration[]
