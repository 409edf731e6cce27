import type { LifecycleHandler, Pod } from '../../api/core/v1/types.generated.ts'
import type { Clock } from '../../base/index.ts'
import { type AnyContainer, findContainer, format } from '../pods/pod.ts'
import { httpRequest } from '../prober/http-request.ts'
import { resolvePort } from '../prober/ports.ts'
import { type ContainerRuntime, RuntimeError } from '../runtime/runtime.ts'

export interface HookOptions {
  runtime: ContainerRuntime
  clock: Clock
  podIP: string
  signal: AbortSignal
}

/** Runs a lifecycle handler to its end. Throws with the text that events and states show. */
export async function runHook(
  pod: Pod,
  container: Pick<AnyContainer, 'name' | 'ports'>,
  containerId: string,
  handler: LifecycleHandler,
  o: HookOptions,
): Promise<void> {
  const where = `for Container ${JSON.stringify(container.name)} in Pod ${JSON.stringify(format(pod))} failed - error:`
  const owner = o.runtime.route?.(containerId) ?? o.runtime
  if (handler.exec) {
    const command = handler.exec.command ?? []
    if (owner.pretend) return
    try {
      const result = await o.runtime.execSync(containerId, command, 0)
      if (result.exitCode !== 0) {
        const output = Buffer.concat([result.stdout, result.stderr]).toString('utf8')
        throw Object.assign(new Error(`command '${command.join(' ')}' exited with ${result.exitCode}: ${output}`), { output })
      }
    } catch (error) {
      const output = (error as { output?: string }).output ?? ''
      throw new Error(`Exec lifecycle hook (${goList(command)}) ${where} ${(error as Error).message}, message: ${JSON.stringify(output)}`)
    }
    return
  }
  if (handler.httpGet) {
    const { path = '', scheme = 'HTTP', host, httpHeaders } = handler.httpGet
    if (owner.pretend) return
    try {
      const port = resolvePort(handler.httpGet.port, findContainer(pod, container.name) ?? container)
      await httpRequest({
        scheme: scheme.toLowerCase() === 'https' ? 'https' : 'http',
        host: host || o.podIP,
        port,
        path,
        headers: httpHeaders ?? [],
        userAgent: 'kube-lifecycle/1.36',
        timeoutMs: 0,
        clock: o.clock,
        signal: o.signal,
      })
    } catch (error) {
      throw new Error(`HTTP lifecycle hook (${path}) ${where} ${(error as Error).message}, message: ""`)
    }
    return
  }
  if (handler.sleep) {
    try {
      await o.clock.sleep(handler.sleep.seconds * 1000, o.signal)
    } catch {
      throw new Error(`Sleep lifecycle hook (${handler.sleep.seconds}) ${where} container terminated before sleep hook finished`)
    }
    return
  }
  throw new RuntimeError('InvalidArgument', 'invalid handler')
}

const goList = (list: readonly string[]): string => `[${list.join(' ')}]`
