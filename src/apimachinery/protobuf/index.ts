/** Kubernetes' protobuf form of canonical objects, driven by schema; see envelope.ts. */
export { encodeMessage } from './encode.ts'
export {
  decodeMessage,
  decodeProtobuf,
  decodeUnknown,
  decodeWatchEvent,
  encodeProtobuf,
  encodeWatchFrame,
  encodeWatchFrameRaw,
  FrameSplitter,
  PROTOBUF_MEDIA_TYPE,
  type RawWatchEvent,
  readEnvelope,
  type Unknown,
} from './envelope.ts'
export { ProtobufError } from './wire.ts'
