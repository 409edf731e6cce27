import type { TableColumnDefinition } from '../apimachinery/meta/v1/types.generated.ts'
import { column } from './columns.ts'

/** Columns of kinds that keep a number of Pods alive. */
export const REPLICA_COLUMNS: readonly TableColumnDefinition[] = [
  column('Name', { format: 'name', description: 'Name of the object.' }),
  column('Desired', { type: 'integer', description: 'Pods that are wanted.' }),
  column('Current', { type: 'integer', description: 'Pods that there are.' }),
  column('Ready', { type: 'integer', description: 'Pods that are ready.' }),
  column('Age', { description: 'Time since creation.' }),
  column('Containers', { priority: 1, description: 'Names of the containers of the template.' }),
  column('Images', { priority: 1, description: 'Images of the containers of the template.' }),
  column('Selector', { priority: 1, description: 'Label selector of the Pods.' }),
]
