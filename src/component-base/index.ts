/** What each component needs around its work: logging, metrics, feature gates, health, version. */
export type { ComponentContext, Logger } from './component.ts'
export { createFeatureGates, FeatureGateError, type FeatureGates, type FeatureSpec, type FeatureStage, parseFeatureGates } from './featuregate/feature-gates.ts'
export { type HealthAnswer, type HealthCheck, HealthChecks } from './healthz/health-checks.ts'
export { createLogger, type LoggerOptions, type LogSink, MemoryLogSink, silentLogger } from './logging/logger.ts'
export { createMetricsRegistry, type MetricSpec, type MetricsRegistry } from './metrics/registry.ts'
export { userAgent, version, versionInfo } from './version.ts'
export type { Info } from './version-info.ts'
