/**
 * The controllers of kube-controller-manager, one folder each, and the manager that runs them. Each reconciles by level: its
 * informers put keys on a queue, its workers compare what is with what is asked for.
 */
export { type ControllerDescriptor, controllers, isControllerEnabled } from './controllers.ts'
export { runControllerManager } from './manager.ts'
export type { ControllerManagerContext, ControllerManagerOptions } from './options.ts'
