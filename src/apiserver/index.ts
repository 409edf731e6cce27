/** The generic API server: pipeline, registry store, handlers. See server.ts for how it is put together. */
export type { ConnectCall, ConnectHandler, CreateSubresource, Endpoint, SubresourceCall, VirtualKind } from './endpoints/endpoint.ts'
export type { ApiRequest, ApiResponse } from './request/api-request.ts'
export { type ApiServer, type ApiServerOptions, createApiServer, type PostStartHook } from './server.ts'
