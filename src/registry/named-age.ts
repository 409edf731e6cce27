import type { KubeObject } from '../apimachinery/object.ts'
import type { TableColumns } from '../apiserver/registry/strategy.ts'
import { ageOf } from '../component-helpers/age.ts'
import { columnList } from './columns.ts'

/**
 * Columns that begin with the name; an `Age` among them is filled in by itself.
 * @param list as columnList has it, without the name
 * @param cells all but name and age, in order
 */
export function namedColumns<T extends KubeObject>(
  list: string,
  cells: (object: T, now: number) => unknown[],
  nameOf?: (object: T) => string,
): TableColumns<T> {
  const columns = columnList(`Name/name${list ? `|${list}` : ''}`)
  const age = columns.findIndex((c) => c.name === 'Age')
  return {
    columns,
    cells(object, now) {
      const out: unknown[] = [nameOf ? nameOf(object) : (object.metadata.name ?? ''), ...cells(object, now)]
      if (age >= 0) out.splice(age, 0, ageOf(object.metadata.creationTimestamp, now))
      return out
    },
  }
}

/** The name, marked when an annotation says that the object is the default of its kind. */
export function nameOrDefault(...annotations: string[]): (object: KubeObject) => string {
  return ({ metadata }) => {
    const name = metadata.name ?? ''
    return annotations.some((a) => metadata.annotations?.[a] === 'true') ? `${name} (default)` : name
  }
}

export const NONE = '<none>'
export const UNSET = '<unset>'
