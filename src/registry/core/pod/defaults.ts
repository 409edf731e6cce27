import type { Container, EphemeralContainer, LifecycleHandler, Pod, PodSpec, PodStatus, PodTemplateSpec, Probe } from '../../../api/core/v1/types.generated.ts'
import { defaultPullPolicy } from '../../../component-helpers/image-reference.ts'
import { setPodLevelResourceDefaults, setRequestsFromLimits, setResourceListDefaults } from './resource-defaults.ts'
import { setFieldRefDefaults, setVolumeDefaults } from './volume-defaults.ts'

/** Annotations that old releases kept init containers in; they are dropped wherever they come from. */
const INIT_CONTAINER_ANNOTATIONS = [
  'pod.beta.kubernetes.io/init-containers',
  'pod.alpha.kubernetes.io/init-containers',
  'pod.beta.kubernetes.io/init-container-statuses',
  'pod.alpha.kubernetes.io/init-container-statuses',
]

function dropInitContainerAnnotations(meta: { annotations?: Record<string, string> }): void {
  const annotations = meta.annotations
  if (!annotations) return
  for (const key of INIT_CONTAINER_ANNOTATIONS) delete annotations[key]
}

function setHandlerDefaults(handler: Pick<LifecycleHandler, 'httpGet'> | undefined): void {
  if (!handler?.httpGet) return
  handler.httpGet.path ||= '/'
  handler.httpGet.scheme ||= 'HTTP'
}

function setProbeDefaults(probe: Probe | undefined): void {
  if (!probe) return
  setHandlerDefaults(probe)
  if (probe.grpc) probe.grpc.service ??= ''
  probe.timeoutSeconds ||= 1
  probe.periodSeconds ||= 10
  probe.successThreshold ||= 1
  probe.failureThreshold ||= 3
}

export function setContainerDefaults(container: Container | EphemeralContainer): void {
  container.imagePullPolicy ||= defaultPullPolicy(container.image)
  container.terminationMessagePath ||= '/dev/termination-log'
  container.terminationMessagePolicy ||= 'File'
  for (const port of container.ports ?? []) port.protocol ||= 'TCP'
  for (const env of container.env ?? []) {
    setFieldRefDefaults(env.valueFrom?.fieldRef)
    if (env.valueFrom?.fileKeyRef) env.valueFrom.fileKeyRef.optional ??= false
  }
  setProbeDefaults(container.livenessProbe)
  setProbeDefaults(container.readinessProbe)
  setProbeDefaults(container.startupProbe)
  setHandlerDefaults(container.lifecycle?.postStart)
  setHandlerDefaults(container.lifecycle?.preStop)
  setResourceListDefaults(container.resources?.limits)
  setResourceListDefaults(container.resources?.requests)
}

/** The old and the new name of the service account field say the same. */
export function syncServiceAccount(spec: PodSpec): void {
  const name = spec.serviceAccountName || spec.serviceAccount
  if (name) {
    if (spec.serviceAccountName !== name) spec.serviceAccountName = name
    if (spec.serviceAccount !== name) spec.serviceAccount = name
  } else if (spec.serviceAccount !== undefined) delete spec.serviceAccount
}

/** Defaults that Pods and templates share. */
export function setPodSpecDefaults(spec: PodSpec): void {
  for (const volume of spec.volumes ?? []) setVolumeDefaults(volume)
  for (const container of spec.initContainers ?? []) setContainerDefaults(container)
  for (const container of spec.containers ?? []) setContainerDefaults(container)
  for (const container of spec.ephemeralContainers ?? []) setContainerDefaults(container)
  spec.restartPolicy ||= 'Always'
  spec.terminationGracePeriodSeconds ??= 30
  spec.dnsPolicy ||= 'ClusterFirst'
  spec.securityContext ??= {}
  spec.schedulerName ||= 'default-scheduler'
  setResourceListDefaults(spec.overhead)
  setResourceListDefaults(spec.resources?.limits)
  setResourceListDefaults(spec.resources?.requests)
  syncServiceAccount(spec)
}

export function setPodTemplateDefaults(template: PodTemplateSpec | undefined): void {
  if (!template) return
  template.metadata ??= {}
  dropInitContainerAnnotations(template.metadata)
  if (template.spec) setPodSpecDefaults(template.spec)
}

/** The first address and the list of addresses agree; the single one wins when they do not. */
export function syncStatusIPs(status: PodStatus | undefined): void {
  if (!status) return
  if (status.podIP && status.podIPs?.[0]?.ip !== status.podIP) status.podIPs = [{ ip: status.podIP }]
  const first = status.podIPs?.[0]?.ip
  if (first) status.podIP = first
  else delete status.podIP
}

export function setPodDefaults(pod: Pod): void {
  dropInitContainerAnnotations(pod.metadata)
  const spec = pod.spec
  if (spec) {
    setPodSpecDefaults(spec)
    spec.enableServiceLinks ??= true
    for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
      setRequestsFromLimits(container.resources)
      if (spec.hostNetwork) for (const port of container.ports ?? []) port.hostPort ||= port.containerPort
    }
    setPodLevelResourceDefaults(pod)
  }
  syncStatusIPs(pod.status)
}
