/**
 * The loop all controllers share: informers put keys on a queue, workers bring the world to what the key's object asks for.
 * Around it the things most of them need: expectations, adoption, slow start, hashes of templates.
 */
export { Controller, type ControllerOptions, type ReconcileResult, TerminalError } from './controller.ts'
export type { ControllerContext } from './controller-context.ts'
export { claimable, controlledBy, indexByController, ownerIn } from './controller-index.ts'
export { Expectations } from './expectations.ts'
export { controllerOf, controllerRef, isControlledBy } from './owner-references.ts'
export { type ClaimOptions, claim } from './ref-manager.ts'
export { allOf, slowStartBatch } from './slow-start.ts'
export { podTemplateHash, safeEncode, stableJson } from './template-hash.ts'
export { WriteTracker } from './write-tracker.ts'
