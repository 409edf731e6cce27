import type { RuntimeEvent } from '../../runtime/runtime.ts'
import type { CriClient } from './client.ts'
import { MessageCodec } from './message-codec.ts'

/**
 * containerd's own event stream, for versions whose CRI has none. Only what is needed of its messages: the envelope's topic, and
 * the container id that every task event has as its first field (exits: field 1 is the task's container, field 2 the process).
 */
const messages = {
  messages: {
    SubscribeRequest: [['filters', 1, 'string', 1]],
    Envelope: [
      ['namespace', 2, 'string'],
      ['topic', 3, 'string'],
      ['event', 4, 'Any'],
    ],
    Any: [
      ['type_url', 1, 'string'],
      ['value', 2, 'bytes'],
    ],
    TaskEvent: [['container_id', 1, 'string']],
  },
  enums: {},
} as const

const TOPICS: Record<string, RuntimeEvent['type']> = {
  '/tasks/start': 'STARTED',
  '/tasks/exit': 'STOPPED',
  '/tasks/oom': 'STOPPED',
  '/tasks/delete': 'DELETED',
}

export function containerdEvents(client: CriClient, onEvent: (event: RuntimeEvent) => void, signal: AbortSignal): Promise<void> {
  const codec = new MessageCodec(messages as never)
  return client.stream(
    'containerd.services.events.v1.Events',
    'Subscribe',
    {
      encode: () => codec.encode('SubscribeRequest', { filters: Object.keys(TOPICS).map((t) => `topic==${JSON.stringify(t)}`) }),
      decode(bytes) {
        const envelope = codec.decode('Envelope', bytes)
        const any = envelope.event as { value?: Uint8Array } | undefined
        const event = codec.decode('TaskEvent', any?.value ?? new Uint8Array(0))
        const type = TOPICS[envelope.topic as string]
        if (type) onEvent({ type, containerId: event.container_id as string })
      },
    },
    signal,
    { 'containerd-namespace': 'k8s.io' },
  )
}
