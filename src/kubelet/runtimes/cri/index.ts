/** Real containers: the runtime contract over gRPC to a CRI v1 endpoint. */
export { type CriRuntime, createCriRuntime } from './runtime.ts'
