export { nodeAuthorizer } from './authorizer.ts'
export { type GraphListers, informedNodeGraph, NodeGraph } from './graph.ts'
export { nodeIdentity } from './identity.ts'
