import { newForbidden, StatusError } from '../../apimachinery/errors.ts'
import { aggregateText } from '../../apimachinery/field.ts'
import type { AdmissionAttributes } from '../../apiserver/admission/admission.ts'

/** How a refusal names the object: its name, else the prefix a name is made from. */
export function objectName({ name, object }: AdmissionAttributes): string {
  return object?.metadata?.name || name || object?.metadata?.generateName || 'Unknown'
}

/** The 403 of a plugin that refuses; several texts are joined as upstream joins errors. */
export function refused(attributes: AdmissionAttributes, ...texts: readonly string[]): StatusError {
  return newForbidden(attributes.resource, objectName(attributes), aggregateText(texts))
}

/** A refusal because of the namespace's end, which clients tell from others by its cause. */
export function refusedTerminating(attributes: AdmissionAttributes): StatusError {
  const { namespace } = attributes
  const { code, reason, message, details } = refused(attributes, `unable to create new content in namespace ${namespace} because it is being terminated`)
  const cause = { reason: 'NamespaceTerminating', message: `namespace ${namespace} is being terminated`, field: 'metadata.namespace' }
  return new StatusError({ code, reason, message, details: { ...details, causes: [cause] } })
}

/** Whether a write is of this resource (and subresource). */
export function concerns({ resource, subresource }: AdmissionAttributes, group: string, name: string, wantedSubresource = ''): boolean {
  return resource.group === group && resource.resource === name && subresource === wantedSubresource
}
