/**
 * The scheduler: a queue of Pods without a node, a cache of nodes with what they hold, and plugins that refuse and
 * score nodes. It meets the rest of the cluster only at the API.
 */
export { runScheduler, type SchedulerComponentOptions } from './run.ts'
export { Scheduler, type SchedulerOptions } from './scheduler.ts'
