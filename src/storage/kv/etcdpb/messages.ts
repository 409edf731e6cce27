import { decodeMessage, encodeMessage, type Message, type MessageTable } from './codec.ts'

/** The part of etcd's v3 API that is spoken here, as tables. Field names and numbers are etcd's. */
export const ResponseHeader: MessageTable = {
  cluster_id: { n: 1, type: 'big' },
  member_id: { n: 2, type: 'big' },
  revision: { n: 3, type: 'int' },
  raft_term: { n: 4, type: 'int' },
}
const header = { n: 1, type: () => ResponseHeader } as const
export const KeyValue: MessageTable = {
  key: { n: 1, type: 'bytes' },
  create_revision: { n: 2, type: 'int' },
  mod_revision: { n: 3, type: 'int' },
  version: { n: 4, type: 'int' },
  value: { n: 5, type: 'bytes' },
  lease: { n: 6, type: 'big' },
}
export const Event: MessageTable = { type: { n: 1, type: 'int' }, kv: { n: 2, type: () => KeyValue }, prev_kv: { n: 3, type: () => KeyValue } }
export const RangeRequest: MessageTable = {
  key: { n: 1, type: 'bytes' },
  range_end: { n: 2, type: 'bytes' },
  limit: { n: 3, type: 'int' },
  revision: { n: 4, type: 'int' },
  sort_order: { n: 5, type: 'int' },
  sort_target: { n: 6, type: 'int' },
  serializable: { n: 7, type: 'bool' },
  keys_only: { n: 8, type: 'bool' },
  count_only: { n: 9, type: 'bool' },
  min_mod_revision: { n: 10, type: 'int' },
  max_mod_revision: { n: 11, type: 'int' },
  min_create_revision: { n: 12, type: 'int' },
  max_create_revision: { n: 13, type: 'int' },
}
export const RangeResponse: MessageTable = {
  header,
  kvs: { n: 2, type: () => KeyValue, repeated: true },
  more: { n: 3, type: 'bool' },
  count: { n: 4, type: 'int' },
}
export const PutRequest: MessageTable = {
  key: { n: 1, type: 'bytes' },
  value: { n: 2, type: 'bytes' },
  lease: { n: 3, type: 'big' },
  prev_kv: { n: 4, type: 'bool' },
  ignore_value: { n: 5, type: 'bool' },
  ignore_lease: { n: 6, type: 'bool' },
}
export const PutResponse: MessageTable = { header, prev_kv: { n: 2, type: () => KeyValue } }
export const DeleteRangeRequest: MessageTable = { key: { n: 1, type: 'bytes' }, range_end: { n: 2, type: 'bytes' }, prev_kv: { n: 3, type: 'bool' } }
export const DeleteRangeResponse: MessageTable = { header, deleted: { n: 2, type: 'int' }, prev_kvs: { n: 3, type: () => KeyValue, repeated: true } }
export const RequestOp: MessageTable = {
  request_range: { n: 1, type: () => RangeRequest },
  request_put: { n: 2, type: () => PutRequest },
  request_delete_range: { n: 3, type: () => DeleteRangeRequest },
  request_txn: { n: 4, type: () => TxnRequest },
}
export const ResponseOp: MessageTable = {
  response_range: { n: 1, type: () => RangeResponse },
  response_put: { n: 2, type: () => PutResponse },
  response_delete_range: { n: 3, type: () => DeleteRangeResponse },
  response_txn: { n: 4, type: () => TxnResponse },
}
export const Compare: MessageTable = {
  result: { n: 1, type: 'int' },
  target: { n: 2, type: 'int' },
  key: { n: 3, type: 'bytes' },
  version: { n: 4, type: 'int' },
  create_revision: { n: 5, type: 'int' },
  mod_revision: { n: 6, type: 'int' },
  value: { n: 7, type: 'bytes' },
  lease: { n: 8, type: 'big' },
  range_end: { n: 64, type: 'bytes' },
}
export const TxnRequest: MessageTable = {
  compare: { n: 1, type: () => Compare, repeated: true },
  success: { n: 2, type: () => RequestOp, repeated: true },
  failure: { n: 3, type: () => RequestOp, repeated: true },
}
export const TxnResponse: MessageTable = { header, succeeded: { n: 2, type: 'bool' }, responses: { n: 3, type: () => ResponseOp, repeated: true } }
export const CompactionRequest: MessageTable = { revision: { n: 1, type: 'int' }, physical: { n: 2, type: 'bool' } }
export const HeaderOnly: MessageTable = { header }
export const Empty: MessageTable = {}
export const WatchCreateRequest: MessageTable = {
  key: { n: 1, type: 'bytes' },
  range_end: { n: 2, type: 'bytes' },
  start_revision: { n: 3, type: 'int' },
  progress_notify: { n: 4, type: 'bool' },
  filters: { n: 5, type: 'int', repeated: true },
  prev_kv: { n: 6, type: 'bool' },
  watch_id: { n: 7, type: 'int' },
  fragment: { n: 8, type: 'bool' },
}
export const WatchCancelRequest: MessageTable = { watch_id: { n: 1, type: 'int' } }
export const WatchRequest: MessageTable = {
  create_request: { n: 1, type: () => WatchCreateRequest },
  cancel_request: { n: 2, type: () => WatchCancelRequest },
  progress_request: { n: 3, type: () => Empty },
}
export const WatchResponse: MessageTable = {
  header,
  watch_id: { n: 2, type: 'int' },
  created: { n: 3, type: 'bool' },
  canceled: { n: 4, type: 'bool' },
  compact_revision: { n: 5, type: 'int' },
  cancel_reason: { n: 6, type: 'string' },
  fragment: { n: 7, type: 'bool' },
  events: { n: 11, type: () => Event, repeated: true },
}
export const LeaseGrantRequest: MessageTable = { TTL: { n: 1, type: 'int' }, ID: { n: 2, type: 'big' } }
export const LeaseGrantResponse: MessageTable = { header, ID: { n: 2, type: 'big' }, TTL: { n: 3, type: 'int' }, error: { n: 4, type: 'string' } }
export const LeaseIdRequest: MessageTable = { ID: { n: 1, type: 'big' } }
export const LeaseKeepAliveResponse: MessageTable = { header, ID: { n: 2, type: 'big' }, TTL: { n: 3, type: 'int' } }
export const LeaseTimeToLiveRequest: MessageTable = { ID: { n: 1, type: 'big' }, keys: { n: 2, type: 'bool' } }
export const LeaseTimeToLiveResponse: MessageTable = {
  header,
  ID: { n: 2, type: 'big' },
  TTL: { n: 3, type: 'int' },
  grantedTTL: { n: 4, type: 'int' },
  keys: { n: 5, type: 'bytes', repeated: true },
}
export const LeaseLeasesResponse: MessageTable = { header, leases: { n: 2, type: () => LeaseIdRequest, repeated: true } }
export const StatusResponse: MessageTable = {
  header,
  version: { n: 2, type: 'string' },
  dbSize: { n: 3, type: 'int' },
  leader: { n: 4, type: 'big' },
  raftIndex: { n: 5, type: 'int' },
  raftTerm: { n: 6, type: 'int' },
  raftAppliedIndex: { n: 7, type: 'int' },
  errors: { n: 8, type: 'string', repeated: true },
  dbSizeInUse: { n: 9, type: 'int' },
  isLearner: { n: 10, type: 'bool' },
}
export const AlarmResponse: MessageTable = { header, alarms: { n: 2, type: () => Empty, repeated: true } }
const Member: MessageTable = {
  ID: { n: 1, type: 'big' },
  name: { n: 2, type: 'string' },
  peerURLs: { n: 3, type: 'string', repeated: true },
  clientURLs: { n: 4, type: 'string', repeated: true },
  isLearner: { n: 5, type: 'bool' },
}
export const MemberListResponse: MessageTable = { header, members: { n: 2, type: () => Member, repeated: true } }

/** One method as gRPC wants it. */
export interface Method {
  readonly path: string
  readonly requestStream: boolean
  readonly responseStream: boolean
  readonly requestSerialize: (message: Message) => Buffer
  readonly requestDeserialize: (bytes: Buffer) => Message
  readonly responseSerialize: (message: Message) => Buffer
  readonly responseDeserialize: (bytes: Buffer) => Message
}

function method(service: string, name: string, request: MessageTable, response: MessageTable, stream = false): Method {
  return {
    path: `/etcdserverpb.${service}/${name}`,
    requestStream: stream,
    responseStream: stream,
    requestSerialize: (m) => encodeMessage(request, m),
    requestDeserialize: (b) => decodeMessage(request, b),
    responseSerialize: (m) => encodeMessage(response, m),
    responseDeserialize: (b) => decodeMessage(response, b),
  }
}

export const methods = {
  KV: {
    Range: method('KV', 'Range', RangeRequest, RangeResponse),
    Put: method('KV', 'Put', PutRequest, PutResponse),
    DeleteRange: method('KV', 'DeleteRange', DeleteRangeRequest, DeleteRangeResponse),
    Txn: method('KV', 'Txn', TxnRequest, TxnResponse),
    Compact: method('KV', 'Compact', CompactionRequest, HeaderOnly),
  },
  Watch: { Watch: method('Watch', 'Watch', WatchRequest, WatchResponse, true) },
  Lease: {
    LeaseGrant: method('Lease', 'LeaseGrant', LeaseGrantRequest, LeaseGrantResponse),
    LeaseRevoke: method('Lease', 'LeaseRevoke', LeaseIdRequest, HeaderOnly),
    LeaseKeepAlive: method('Lease', 'LeaseKeepAlive', LeaseIdRequest, LeaseKeepAliveResponse, true),
    LeaseTimeToLive: method('Lease', 'LeaseTimeToLive', LeaseTimeToLiveRequest, LeaseTimeToLiveResponse),
    LeaseLeases: method('Lease', 'LeaseLeases', Empty, LeaseLeasesResponse),
  },
  Maintenance: {
    Status: method('Maintenance', 'Status', Empty, StatusResponse),
    Alarm: method('Maintenance', 'Alarm', Empty, AlarmResponse),
    Defragment: method('Maintenance', 'Defragment', Empty, HeaderOnly),
  },
  Cluster: { MemberList: method('Cluster', 'MemberList', Empty, MemberListResponse) },
} as const
