import type { corev1 } from '../../../api/index.ts'
import type { KindRegistration } from '../../../apiserver/registry/strategy.ts'
import { deepCopy, deepEqual } from '../../../base/index.ts'
import { serviceColumns } from './columns.ts'
import { defaultService } from './defaults.ts'
import { isExternallyAccessible, mayHaveNodePorts, needsClusterIP, needsHealthCheckPort, nodePortsOf } from './needs.ts'
import { releaseOfService, reserveForService, type ServicePools } from './reservation.ts'
import { validateService, validateServiceStatus, validateServiceUpdate } from './validation.ts'
import { serviceWarnings } from './warnings.ts'

type Service = corev1.Service

/** A change of type takes along what the new type has no use for, unless the writer gave it a new value. */
function dropForType(service: Service, old: Service): void {
  const { spec } = service
  const before = old.spec
  if (needsClusterIP(old) && !needsClusterIP(service)) {
    if (deepEqual([spec.clusterIP, spec.clusterIPs], [before.clusterIP, before.clusterIPs])) {
      delete spec.clusterIP
      delete spec.clusterIPs
    }
    if (deepEqual(spec.ipFamilies, before.ipFamilies)) delete spec.ipFamilies
    if (spec.ipFamilyPolicy === before.ipFamilyPolicy) delete spec.ipFamilyPolicy
    if (spec.internalTrafficPolicy === before.internalTrafficPolicy) delete spec.internalTrafficPolicy
  }
  if (mayHaveNodePorts(old) && !mayHaveNodePorts(service) && deepEqual(nodePortsOf(service), nodePortsOf(old))) {
    for (const port of spec.ports ?? []) delete port.nodePort
  }
  if (needsHealthCheckPort(old) && !needsHealthCheckPort(service) && spec.healthCheckNodePort === before.healthCheckNodePort) delete spec.healthCheckNodePort
  if (before.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    if (spec.allocateLoadBalancerNodePorts === before.allocateLoadBalancerNodePorts) delete spec.allocateLoadBalancerNodePorts
    if (spec.loadBalancerClass === before.loadBalancerClass) delete spec.loadBalancerClass
  }
  if (isExternallyAccessible(old) && !isExternallyAccessible(service) && spec.externalTrafficPolicy === before.externalTrafficPolicy)
    delete spec.externalTrafficPolicy
}

export function serviceKind(pools: ServicePools | undefined): KindRegistration<Service> {
  return {
    group: '',
    resource: 'services',
    storage: { group: '', version: 'v1', kind: 'Service' },
    strategy: {
      nameRule: 'label',
      allowCreateOnUpdate: true,
      generation: 'none',
      defaults: defaultService,
      ...(pools
        ? {
            reserve: (service: Service, old: Service | undefined, context) => reserveForService(pools, service, old, context),
            afterDelete: (service: Service) => releaseOfService(pools, service),
          }
        : {}),
      validate: (service) => validateService(service),
      warningsOnCreate: serviceWarnings,
      prepareForUpdate(service, old) {
        service.status = deepCopy(old.status)
        dropForType(service, old)
        if (service.spec.type !== 'LoadBalancer' && service.status) service.status.loadBalancer = {}
      },
      validateUpdate: validateServiceUpdate,
      warningsOnUpdate: serviceWarnings,
      selectableFieldLabels: ['spec.clusterIP', 'spec.type'],
      selectableFields: ({ spec }) => ({ 'spec.clusterIP': spec.clusterIP ?? '', 'spec.type': spec.type ?? '' }),
    },
    status: {
      prepareForUpdate(service, old) {
        service.spec = deepCopy(old.spec)
      },
      validateUpdate: validateServiceStatus,
    },
    columns: serviceColumns,
  }
}
