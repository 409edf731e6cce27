import { isAlreadyExists } from '../../apimachinery/errors.ts'
import type { KubeObject, ResourceHandle } from '../../apimachinery/object.ts'
import type { Client } from '../../client/client.ts'

/** Makes an object unless somebody else was faster. True when it was made here. */
export async function createIfMissing<T extends KubeObject>(client: Client, handle: ResourceHandle<T>, object: T): Promise<boolean> {
  try {
    await client.resource(handle).namespace(object.metadata.namespace).create(object)
    return true
  } catch (error) {
    if (isAlreadyExists(error)) return false
    throw error
  }
}
