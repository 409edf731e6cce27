import type { Job } from '../../api/batch/v1/types.generated.ts'
import type { Container, Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { controllerRef } from '../../controller-runtime/index.ts'
import { podFromTemplate } from '../../controller-runtime/pods/pod-control.ts'
import { INDEX_KEY } from './indexes.ts'

export const TRACKING_FINALIZER = 'batch.kubernetes.io/job-tracking'
export const FAILURE_COUNT = 'batch.kubernetes.io/job-index-failure-count'
export const IGNORED_COUNT = 'batch.kubernetes.io/job-index-ignored-failure-count'
const ENV = 'JOB_COMPLETION_INDEX'
const MAX_PREFIX = 58

/** The Pod of a Job, for an index when it has indexes; it carries the finalizer by which it will be counted. */
export function jobPod(job: Job, index: number | undefined, counts: Record<string, string> = {}): Pod {
  const name = job.metadata.name ?? ''
  const pod = podFromTemplate(job.spec.template, { name, namespace: job.metadata.namespace }, controllerRef(resources.batchv1.jobs, job))
  pod.metadata.finalizers = [...(pod.metadata.finalizers ?? []).filter((f) => f !== TRACKING_FINALIZER), TRACKING_FINALIZER]
  if (index === undefined) return pod
  const suffix = `-${index}-`
  pod.metadata.generateName = name.slice(0, MAX_PREFIX - suffix.length) + suffix
  pod.metadata.annotations = { ...pod.metadata.annotations, [INDEX_KEY]: String(index), ...counts }
  pod.metadata.labels = { ...pod.metadata.labels, [INDEX_KEY]: String(index) }
  pod.spec.hostname = `${name}-${index}`
  const env = { name: ENV, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: `metadata.labels['${INDEX_KEY}']` } } }
  const withEnv = (c: Container): Container => (c.env?.some((e) => e.name === ENV) ? c : { ...c, env: [...(c.env ?? []), env] })
  pod.spec.containers = pod.spec.containers.map(withEnv)
  if (pod.spec.initContainers) pod.spec.initContainers = pod.spec.initContainers.map(withEnv)
  return pod
}
