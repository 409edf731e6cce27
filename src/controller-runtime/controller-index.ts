import type { KubeObject } from '../apimachinery/object.ts'
import type { Informer, Lister } from '../client/index.ts'
import { controllerIndex, controllerOf, orphanIndexValue } from './owner-references.ts'

/** Name of the index of objects by the uid of their controller. */
const CONTROLLER = 'controllerUid'

/** Lets `controlledBy` and `claimable` ask of this informer's objects. */
export function indexByController<T extends KubeObject>(informer: Informer<T>): void {
  informer.addIndex(CONTROLLER, controllerIndex)
}

/** The objects whose controller has this uid. */
export function controlledBy<T extends KubeObject>(lister: Lister<T>, uid: string | undefined): readonly T[] {
  return lister.byIndex(CONTROLLER, uid ?? '')
}

/** What an owner has, and what of its namespace nobody has: those it may claim. */
export function claimable<T extends KubeObject>(lister: Lister<T>, owner: KubeObject): T[] {
  return [...controlledBy(lister, owner.metadata.uid), ...lister.byIndex(CONTROLLER, orphanIndexValue(owner.metadata.namespace))]
}

/** The controller of an object, where it is of this kind and still the one the reference means. */
export function ownerIn<O extends KubeObject>(owners: Lister<O>, kind: string, object: KubeObject): O | undefined {
  const ref = controllerOf(object)
  if (ref?.kind !== kind) return undefined
  const owner = owners.get(`${object.metadata.namespace}/${ref.name}`)
  return owner?.metadata.uid === ref.uid ? owner : undefined
}
