/**
 * Language help without a Kubernetes word and without the platform: time, chance, queues, back-off, disposal.
 */
export { AsyncQueue, QueueFullError } from './async-queue.ts'
export { Backoff } from './backoff.ts'
export { BoundedMap } from './bounded-map.ts'
export { type Clock, sleepOn, type Timer } from './clock.ts'
export { deepCopy, deepEqual, deepFreeze, setOwn } from './deep-freeze.ts'
export { Heap } from './heap.ts'
export { NAME_ALPHABET, type Random, randomString, seededRandom, systemRandom } from './random.ts'
export { systemClock } from './system-clock.ts'
export { VirtualClock } from './virtual-clock.ts'
export { yielder } from './yielder.ts'
