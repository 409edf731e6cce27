import type { ContainerRuntime } from '../runtime/runtime.ts'

/** What a streaming request asks for, found and checked. */
export interface StreamTarget {
  kind: 'exec' | 'attach' | 'portForward'
  runtime: ContainerRuntime
  containerId: string
  sandboxId: string
  command: string[]
  stdin: boolean
  stdout: boolean
  stderr: boolean
  tty: boolean
  ports: number[]
}
