import type { CustomResourceDefinition } from '../api/apiextensions/v1/types.generated.ts'
import * as field from '../apimachinery/field.ts'
import { type ErrorList, FieldPath } from '../apimachinery/field.ts'

const SPEC = FieldPath.root('spec')

export function validateDefinition(definition: CustomResourceDefinition): ErrorList {
  const errors: ErrorList = []
  const { spec } = definition
  if (definition.metadata.name !== `${spec.names.plural}.${spec.group}`) {
    errors.push(field.invalid(FieldPath.root('metadata', 'name'), definition.metadata.name, 'must be spec.names.plural+"."+spec.group'))
  }
  if (!spec.group) errors.push(field.required(SPEC.child('group')))
  return errors
}

export function validateDefinitionUpdate(definition: CustomResourceDefinition, _old: CustomResourceDefinition): ErrorList {
  return validateDefinition(definition)
}
