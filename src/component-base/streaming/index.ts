/** SPDY/3.1 and WebSocket channels as Kubernetes' exec, attach and port-forward use them, on any byte stream. */
export * from './join.ts'
export * from './remote-command.ts'
export { SpdyConnection, type SpdyConnectionOptions, SpdyStream } from './spdy-connection.ts'
export { type SpdyHeaders, SpdyProtocolError } from './spdy-headers.ts'
export * from './upgrade.ts'
export * from './websocket.ts'
